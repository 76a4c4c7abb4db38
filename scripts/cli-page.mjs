#!/usr/bin/env node
// Writes docs/cli.md from the command line itself, as it was last built: what it says is what `--help` says.
//   node scripts/cli-page.mjs            write
//   node scripts/cli-page.mjs --check    fail when what is checked in is stale
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { program } from "../packages/cli/dist/main.js";

const file = path.resolve(import.meta.dirname, "../docs/cli.md");

const introduction = `# The command line

Generated from the help of the commands: \`npx pgque COMMAND --help\` says the same.

Lists are tables, with \`--json\` one JSON document. Results go to standard output, everything else to standard error. There are no colors with
\`NO_COLOR\`, or where no terminal is. Exit codes: 0 done, 1 failed, 2 wrong usage; where a command has others its help
says so.

What destroys something asks before. Without a terminal to ask at it does nothing and exits with 2, unless \`--yes\` is given.

Durations have a unit: \`250ms\`, \`30s\`, \`5m\`, \`2h\`, \`1d\`. Times have a zone: \`2026-01-31T12:00:00Z\`.

## JSON

With \`--json\` a list is an array, and all else an object. What comes bit by bit (\`receive\`, \`tail\`, \`top\` without \`--once\`) is an object a line.
A program may rely on this, in every command:

| members | what they hold |
|---|---|
| \`queue\`, \`consumer\`, \`schedule\` | the name of one |
| \`id\`, \`messageId\`, \`batchId\` | a string of digits, since JavaScript's numbers do not hold every id. \`id\` is that of the object itself |
| \`at\`, \`createdAt\`, … | a time, ISO 8601 in UTC with milliseconds |
| \`…Ms\` | a duration in milliseconds, a number |
| \`…PerSecond\` | a rate, a number |
| \`bytes\`, \`…Bytes\`, \`…BytesMax\` | a size in bytes, a number |
| \`…Count\`, \`depth\`, \`delayed\`, \`inFlight\`, \`deadLetters\`, \`attempt\` | a number |
| \`paused\`, \`is…\` | true or false |
| \`payload\`, \`headers\` | as they were sent, with numbers as JavaScript has them: beyond 2^53 they are rounded; a payload that is no JSON as a string |

What is not known or does not apply is null. What a command has done is told in its participle: \`created\`, \`changed\`, \`added\`, \`moved\`, \`removed\`
and \`dropped\` are true, or false when there was nothing to do; \`sent\`, \`redriven\` and \`purged\` say how many. Members may be added in any
version; others change in one that may break. Texts for people (\`found\` and \`why\` of \`doctor\`, \`expected\` of \`validate\`) may be worded anew.

\`worker\` and \`guard\` log: an object a line with \`level\`, \`time\` and \`msg\`. \`bench\` prints its results.json.
`;

const sections = commandsOf(program(), ["pgque"]).map(
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
