import { Command } from "commander";
import { list, number } from "./bench-options.ts";
import { scenarioCommand } from "./bench-scenario.ts";

const description =
  "Measure how a queue degrades beside a transaction that nobody ends, as Brandur Leach did with Que in 2015: a producer and a consumer at a steady " +
  "rate, the backlog and the time to lock a message as the transaction grows old. Each cell in a fresh database. Without a database to use, it starts " +
  "an embedded PostgreSQL and removes it afterwards.";

const examples = `\
  pgque bench degradation --quick                                   20 seconds each at a higher rate, indicative
  pgque bench degradation --duration 3600                           an hour each, as the original
  pgque bench degradation --systems skip-locked,pgque,pgque-batch   only these`;

/** The `bench degradation` command. */
export function benchDegradationCommand(): Command {
  const command = new Command("degradation")
    .summary("Measure how a queue degrades beside a transaction that nobody ends.")
    .description(description)
    .option("--quick", "20 seconds each at 100 messages/s; indicative only")
    .option("--duration <seconds>", "how long the transaction is open in each cell (default: 900; quick: 20)", number)
    .option("--rate <messages/s>", "(default: 50; quick: 100)", number)
    .option("--consumers <n>", "(default: 1)", number)
    .option("--payload-bytes <bytes>", "(default: 75)", number)
    .option(
      "--systems <names>",
      "of que, que-patched, skip-locked, pgque, pgque-batch (default: all but the last)",
      list,
    )
    .option("--repeat <times>", "(default: 1)", number);
  return scenarioCommand(command, examples, ({ runDegradation }) => runDegradation);
}
