import { Command } from "commander";
import { list, number } from "./bench-options.ts";
import { scenarioCommand } from "./bench-scenario.ts";

const description =
  "Compare everything that is installed, in one table: finished messages a second, without and with the horizon held, latency, WAL and dead " +
  "tuples. Each in fresh databases. Without a database to use, it starts an embedded PostgreSQL and removes it afterwards. What is not installed " +
  "is not run, and says so.";

const examples = `\
  pgque bench compare --quick                          once, indicative
  pgque bench compare --systems pgque,skip-locked      only these
  pgque bench compare --horizon repeatable-read --duration 180 --repeat 5`;

/** The `bench compare` command. */
export function benchCompareCommand(): Command {
  const command = new Command("compare")
    .summary("Compare everything that is installed, in one table.")
    .description(description)
    .option("--quick", "one repeat of five seconds a phase; indicative only")
    .option("--duration <seconds>", "how long each of the four phases is measured (default: 60; quick: 5)", number)
    .option("--rate <messages/s>", "of the paced phases, which measure the latency (default: 100)", number)
    .option("--producers <n>", "(default: 4)", number)
    .option("--consumers <n>", "(default: 4)", number)
    .option("--batch <messages>", "the most one receive returns (default: 100)", number)
    .option("--send-batch <messages>", "in one send of the saturated phases (default: 10)", number)
    .option("--payload-bytes <bytes>", "(default: 75)", number)
    .option("--systems <names>", "as of pgque bench (default: all)", list)
    .option("--horizon <name>", "as of pgque bench (default: repeatable-read)")
    .option("--repeat <times>", "(default: 3; quick: 1)", number);
  return scenarioCommand(command, examples, ({ runCompare }) => runCompare);
}
