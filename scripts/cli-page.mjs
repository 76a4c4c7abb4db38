#!/usr/bin/env node
// Writes docs/cli.md from the command line itself, as it was last built: what it says is what `--help` says.
//   node scripts/cli-page.mjs            write
//   node scripts/cli-page.mjs --check    fail when what is checked in is stale
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { program, scenarioFlags } from "../packages/cli/dist/main.js";

const file = path.resolve(import.meta.dirname, "../docs/cli.md");

const introduction = `# The command line

Generated from the help of the commands: \`npx pgque COMMAND --help\` says the same.

Lists are tables, with \`--json\` one JSON document. Results go to standard output, everything else to standard error. There are no
colors with \`NO_COLOR\`, or without a terminal. Exit codes: 0 done, 1 failed, 2 wrong usage. The help of a command lists others.

Destructive commands ask for confirmation. Without a terminal they do nothing and exit with 2, unless \`--yes\` is given.

Durations have a unit: \`250ms\`, \`30s\`, \`5m\`, \`2h\`, \`1d\`. Times have a zone: \`2026-01-31T12:00:00Z\`.

## JSON

With \`--json\` a list is an array, and all else an object. Streams (\`receive\`, \`tail\`, \`top\` without \`--once\`) have an object a line.
Programs may rely on this, in every command:

| members | values |
|---|---|
| \`queue\`, \`consumer\`, \`schedule\` | its name |
| \`id\`, \`messageId\`, \`batchId\` | a string of digits: JavaScript's numbers do not hold every id. \`id\` is the object's own |
| \`at\`, \`createdAt\`, … | a time, ISO 8601 in UTC with milliseconds |
| \`…Ms\` | a duration in milliseconds, a number |
| \`…PerSecond\` | a rate, a number |
| \`bytes\`, \`…Bytes\`, \`…BytesMax\` | a size in bytes, a number |
| \`…Count\`, \`depth\`, \`delayed\`, \`inFlight\`, \`deadLetters\`, \`attempt\` | a number |
| \`paused\`, \`is…\` | true or false |
| \`payload\`, \`headers\` | as they were sent, with numbers as JavaScript has them: beyond 2^53 they are rounded; a payload that is no JSON as a string |

Unknown values, and those that do not apply, are null. The outcome of a command is a participle: \`created\`, \`changed\`, \`added\`,
\`moved\`, \`removed\` and \`dropped\` are true or false; \`sent\`, \`redriven\` and \`purged\` are counts. Any version may add members; only a
major version changes or removes them. Texts for people (\`found\` and \`why\` of \`doctor\`, \`expected\` of \`validate\`) may change.

\`worker\` and \`guard\` log: an object a line with \`level\`, \`time\` and \`msg\`. \`bench\` prints its results.json.
`;

const sections = commandsOf(program(await scenarioFlags()), ["pgque"]).map(
  ({ name, command }) => `## ${name}\n\n\`\`\`text\n${helpOf(command).trim()}\n\`\`\`\n`,
);
const page = [introduction, ...sections].join("\n");

if (!process.argv.includes("--check")) writeFileSync(file, page);
else if (readFileSync(file, "utf8") !== page) {
  console.error("docs/cli.md is stale: run node scripts/cli-page.mjs");
  process.exitCode = 1;
}

/** A command and all below it, each with the words that call it. */
function commandsOf(command, words) {
  const below = command.commands.flatMap((one) => commandsOf(one, [...words, one.name()]));
  return [{ name: words.join(" "), command }, ...below];
}

function helpOf(command) {
  let text = "";
  command.configureOutput({
    writeOut: (written) => (text += written),
    getOutHelpWidth: () => 120,
    getOutHasColors: () => false,
  });
  command.outputHelp();
  return text;
}
