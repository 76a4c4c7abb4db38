import { Command } from "commander";
import { list, number, numbers } from "./bench-options.ts";
import { scenarioCommand } from "./bench-scenario.ts";

const description =
  "Measure how fast the client sends: many messages in one call against COPY by hand, graphile-worker and BullMQ, one message against a " +
  "prepared INSERT. Each cell in a fresh database. Without a database to use, it starts an embedded PostgreSQL and removes it afterwards; " +
  "BullMQ's cells start a redis-server from the PATH. What is not installed is not run, and says so.";

const examples = `\
  pgque bench sends --quick                            two minutes, once, indicative
  pgque bench sends --systems pgque,copy,insert        nothing but PostgreSQL and this client
  npm install graphile-worker@0.18 bullmq@6 ioredis@5 zod@4   what the other cells need, and redis-server from the system`;

/** The `bench sends` command. */
export function benchSendsCommand(): Command {
  const command = new Command("sends")
    .summary("Measure how fast the client sends, against COPY, INSERT and other queues.")
    .description(description)
    .option("--quick", "one repeat of a second a cell; indicative only")
    .option("--duration <seconds>", "how long each cell is measured (default: 2; quick: 1)", number)
    .option(
      "--systems <names>",
      "of pgque, pgque-zod, copy, insert, graphile-worker, bullmq, bullmq-aof, pgque-prepared (default: all)",
      list,
    )
    .option("--payload-bytes <bytes>", "the least of a payload's JSON (default: 100,1024)", numbers)
    .option("--messages <numbers>", "in one call that sends many (default: 1000,10000)", numbers)
    .option("--connections <numbers>", "of those that send one message a call (default: 1,4)", numbers)
    .option("--repeat <times>", "(default: 5; quick: 1)", number);
  return scenarioCommand(command, examples, ({ runSends }) => runSends);
}
