/**
 * Whether `pg` reads a text as a connection string in the way its writer meant it: a URL that parses, a socket's path, or the bare name of a
 * database. It takes anything, and what it misunderstands it makes the name of a host or a database, which messages then show: `app:secret@db/x`,
 * `host=db password=secret`, `postgres://app:1/secret@db/x`.
 */
export function isConnectionString(text: string): boolean {
  if (/^(?:\/(?!\/)|socket:)/.test(text)) return true;
  if (!/^postgres(?:ql)?:\/\//.test(text)) return /^[\w.-]+$/.test(text);
  const [, , , ...path] = text.split("/");
  return URL.canParse(text) && !path.join("/").replace(/\?.*/s, "").includes("@");
}
