// What an entry point imports first: below the oldest Node a file after this one may not even parse, or fails at some call without saying why.
const found = process.versions.node;
const [major = 0, minor = 0] = found.split(".").map(Number);
if (major < 22 || (major === 22 && minor < 18)) {
  throw new Error(
    `Pgque needs Node.js 22.18 or newer, this is ${found}. Install a current one from https://nodejs.org.`,
  );
}
