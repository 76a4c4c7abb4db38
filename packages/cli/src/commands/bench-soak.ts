import { Command } from "commander";
import { list, number } from "./bench-options.ts";
import { scenarioCommand } from "./bench-scenario.ts";

const description =
  "Run a queue at a steady rate for half an hour or longer, and say whether anything grows: dead tuples, size on disk, latency, memory of the clients and of the " +
  "server. Each system in a fresh database. Without a database to use, it starts an embedded PostgreSQL and removes it afterwards.";

const examples = `\
  pgque bench soak --quick                              half a minute, indicative
  pgque bench soak                                      half an hour
  pgque bench soak --duration 28800 --systems pgque-worker
  pgque bench soak --systems pgque,skip-locked --horizons none,repeatable-read`;

/** The `bench soak` command. */
export function benchSoakCommand(): Command {
  const command = new Command("soak")
    .summary("Measure whether anything grows in half an hour and longer.")
    .description(description)
    .option("--quick", "half a minute a cell; indicative only")
    .option("--duration <seconds>", "of each cell (default: 1800; quick: 30)", number)
    .option("--rate <messages/s>", "all producers together, open loop (default: 800)", number)
    .option("--producers <n>", "(default: 4)", number)
    .option("--consumers <n>", "(default: 4)", number)
    .option("--batch <messages>", "the most one receive returns (default: 100)", number)
    .option("--payload-bytes <bytes>", "(default: 75)", number)
    .option("--systems <names>", "as of pgque bench (default: pgque)", list)
    .option("--horizons <names>", "as of pgque bench, each held all the time (default: none)", list)
    .option("--repeat <times>", "(default: 1)", number);
  return scenarioCommand(command, examples, ({ runSoak }) => runSoak);
}
