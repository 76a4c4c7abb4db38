import { Command } from "commander";
import { UsageError } from "../output/failure.ts";
import { refuseMisplaced } from "./bench-options.ts";

const description =
  "Read the results of earlier runs, and print for each target that Pgque sets itself what was measured, over its repeats, and whether it is met. " +
  "Nothing is run. Scenarios with targets are xmin, engine, sends, drain and latency.";

const examples = `\
  pgque bench targets                       of every run in results
  pgque bench targets bench/results --markdown
  pgque bench targets results/2026-01-31T08-05-00-drain --json`;

/** The `bench targets` command. */
export function benchTargetsCommand(): Command {
  const command = new Command("targets")
    .summary("Print which targets earlier runs have met.")
    .description(description)
    .argument("[folder...]", "results folders, or folders of such (default: results)")
    .option("--markdown", "a table for a document")
    .option("--json", "an array of runs with their outcomes");
  return command
    .addHelpText("after", `\nExamples:\n${examples}`)
    .action(async (folders: string[], flags: { markdown?: true; json?: true }) => {
      refuseMisplaced(command);
      const { BenchOptionError, targetsIn, targetsMarkdown, targetsTerminal } = await import("@pgque/bench");
      try {
        const runs = await targetsIn(folders.length === 0 ? ["results"] : folders);
        const text = flags.markdown ? targetsMarkdown(runs).trimEnd() : targetsTerminal(runs);
        process.stdout.write(`${flags.json ? JSON.stringify(runs, null, 2) : text}\n`);
      } catch (error) {
        throw error instanceof BenchOptionError ? new UsageError(error.message) : error;
      }
    });
}
