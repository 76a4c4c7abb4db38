#!/usr/bin/env node
// Old syntax only, and no import before the check: on too old a Node this file must still parse and say why it stops.
var found = process.versions.node.split(".").map(Number);
if (found[0] < 22 || (found[0] === 22 && found[1] < 18)) {
  console.error(
    "pgque needs Node.js 22.18 or newer, this is " +
      process.versions.node +
      ". Install a current one from https://nodejs.org.",
  );
  process.exit(1);
}
import("../dist/main.js").then(
  function (cli) {
    return cli.main(process.argv);
  },
  function (error) {
    console.error("error: " + error.message);
    process.exit(1);
  },
);
