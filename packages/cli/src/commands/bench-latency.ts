import { Command } from "commander";
import { list, number, numbers } from "./bench-options.ts";
import { scenarioCommand } from "./bench-scenario.ts";

const description =
  "Measure how long a message takes from when it was due to be sent until its handler has it, with an idle worker, against graphile-worker, BullMQ " +
  "and bare round trips. Each cell in a fresh database. Without a database to use, it starts an embedded PostgreSQL and removes it afterwards; " +
  "BullMQ's cells start a redis-server from the PATH. What is not installed is not run, and says so.";

const examples = `\
  pgque bench latency --quick                                  two minutes, once, indicative
  pgque bench latency --rates 1000 --handler-ms 5              a worker that is half busy
  pgque bench latency --synchronous-commit off                 without the wait for the disk
  npm install graphile-worker@0.18 bullmq@6 ioredis@5          what the other cells need, and redis-server from the system`;

/** The `bench latency` command. */
export function benchLatencyCommand(): Command {
  const command = new Command("latency")
    .summary("Measure how long a message takes to its handler, against other queues.")
    .description(description)
    .option("--quick", "one repeat of four seconds a cell; indicative only")
    .option("--duration <seconds>", "how long each cell is measured (default: 30; quick: 4)", number)
    .option("--rates <numbers>", "of messages a second (default: 1,100,1000)", numbers)
    .option(
      "--systems <names>",
      "of pgque, graphile-worker, bullmq, select, notify, insert-notify (default: all)",
      list,
    )
    .option(
      "--handler-ms <ms>",
      "how long a handler, one of ten, goes on after it has its message (default: 0)",
      number,
    )
    .option("--synchronous-commit <setting>", "on or off (default: on)")
    .option("--repeat <times>", "(default: 5; quick: 1)", number);
  return scenarioCommand(command, examples, ({ runLatency }) => runLatency);
}
