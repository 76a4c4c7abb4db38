import { Command } from "commander";
import { list, number, numbers, withSqlFiles } from "./bench-options.ts";
import { scenarioCommand } from "./bench-scenario.ts";

const description =
  "Measure how fast messages are sent, one a transaction and in batches, and how fast a backlog is received in batches and finished: each on its own, as " +
  "fast as it goes, beside what PgQue published of itself. Each cell in a fresh database. Without a database to use, it starts an embedded PostgreSQL and " +
  "removes it afterwards. What is not installed is not run, and says so.";

const examples = `\
  pgque bench throughput --quick                         two minutes, once, indicative
  pgque bench throughput --systems pgque,skip-locked     only these
  pgque bench throughput --synchronous-commit on         with the wait for the disk
  pgque bench throughput --payload-bytes 100 --batch 1000`;

/** The `bench throughput` command. */
export function benchThroughputCommand(): Command {
  const command = new Command("throughput")
    .summary("Measure how fast messages are sent, and how fast received.")
    .description(description)
    .option("--quick", "one repeat of two seconds a cell, smaller batches; indicative only")
    .option("--duration <seconds>", "the most each cell is measured (default: 10; quick: 2)", number)
    .option("--clients <n>", "who send one message a transaction (default: 16)", number)
    .option(
      "--batch <messages>",
      "in one send or receive, 100000 at most, fewer where their payloads are above 64 MiB (default: 100000; quick: 5000)",
      number,
    )
    .option(
      "--messages <n>",
      "of the backlog that is received, fewer where their payloads are above 512 MiB (default: 1000000; quick: 30000)",
      number,
    )
    .option("--payload-bytes <numbers>", "one message a transaction: the smallest (default: 100,2048)", numbers)
    .option(
      "--systems <names>",
      "of pgque, skip-locked, skip-locked-delete, pgmq, pgq, pgq-universal (default: all)",
      list,
    )
    .option("--synchronous-commit <setting>", "on or off (default: off, as published)")
    .option("--repeat <times>", "(default: 3; quick: 1)", number);
  return scenarioCommand(withSqlFiles(command), examples, ({ runThroughput }) => runThroughput);
}
