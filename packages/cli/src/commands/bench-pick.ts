import { Command } from "commander";
import { list, number } from "./bench-options.ts";
import { scenarioCommand } from "./bench-scenario.ts";

const description =
  "Measure how long workers take to do jobs that are there at the start, one at a time, the highest priority first: by SKIP LOCKED, by advisory locks, " +
  "and by Pgque with a message and with a hundred a receive; and bare UPDATEs for scale. Each cell in a fresh database. Without a database to use, it starts an embedded " +
  "PostgreSQL and removes it afterwards.";

const examples = `\
  pgque bench pick --quick                         2000 jobs, once, indicative
  pgque bench pick --systems pgque,skip-locked     only these
  pgque bench pick --jobs 100000 --workers 16`;

/** The `bench pick` command. */
export function benchPickCommand(): Command {
  const command = new Command("pick")
    .summary("Measure how long workers take to do jobs by priority.")
    .description(description)
    .option("--quick", "one repeat of 2000 jobs; indicative only")
    .option("--jobs <n>", "(default: 10000; quick: 2000)", number)
    .option("--workers <n>", "(default: 8)", number)
    .option(
      "--systems <names>",
      "of pgque, pgque-batch, skip-locked, advisory-lock, update-async, update-sync (default: all)",
      list,
    )
    .option("--repeat <times>", "(default: 5; quick: 1)", number);
  return scenarioCommand(command, examples, ({ runPick }) => runPick);
}
