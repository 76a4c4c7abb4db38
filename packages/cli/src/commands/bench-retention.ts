import { Command } from "commander";
import { list, number } from "./bench-options.ts";
import { scenarioCommand } from "./bench-scenario.ts";

const description =
  "Measure what it costs to keep dead tuples for a while: pgbench's TPC-B-like load, and a queue beside it, while a replication slot holds the xmin " +
  "horizon and moves on after an interval. Each cell in a fresh database. Without a database to use, it starts an embedded PostgreSQL and removes " +
  "it afterwards.";

const examples = `\
  pgque bench retention --quick                            two minutes, indicative
  pgque bench retention --intervals none,1000,dynamic      only these
  pgque bench retention --intervals none,100000 --duration 300 --repeat 1`;

/** The `bench retention` command. */
export function benchRetentionCommand(): Command {
  const command = new Command("retention")
    .summary("Measure what a slot that keeps dead tuples for a while costs.")
    .description(description)
    .option("--quick", "one repeat of ten seconds a cell; indicative only")
    .option("--duration <seconds>", "of a cell, at least two and a half intervals (default: 120; quick: 10)", number)
    .option(
      "--intervals <list>",
      "milliseconds after which the slot moves on; none: no slot; dynamic: 100 ms, doubled while nothing happens " +
        "(default: none,10,1000,10000,100000,dynamic; quick: none,10,1000,dynamic)",
      list,
    )
    .option("--systems <names>", "the queues beside the load, as of pgque bench (default: pgque,skip-locked)", list)
    .option("--rate <messages/s>", "of the queue, all producers together (default: 800)", number)
    .option("--scale <n>", "of the tables of the load, 100000 accounts each (default: 10; quick: 1)", number)
    .option("--tpcb-clients <n>", "of the load (default: 8)", number)
    .option("--producers <n>", "of the queue (default: 4)", number)
    .option("--consumers <n>", "of the queue (default: 4)", number)
    .option("--batch <messages>", "the most one receive returns (default: 100)", number)
    .option("--payload-bytes <bytes>", "(default: 75)", number)
    .option("--repeat <times>", "(default: 3; quick: 1)", number);
  return scenarioCommand(command, examples, ({ runRetention }) => runRetention);
}
