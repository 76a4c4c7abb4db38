import { Command } from "commander";
import { list, number, numbers } from "./bench-options.ts";
import { scenarioCommand } from "./bench-scenario.ts";

const description =
  "Measure how fast workers drain a queue: messages that were sent before the start, a handler that does nothing, one process and several, " +
  "against graphile-worker and BullMQ. Each cell in a fresh database. Without a database to use, it starts an embedded PostgreSQL and removes it " +
  "afterwards; BullMQ's cells start a redis-server from the PATH. What is not installed is not run, and says so.";

const examples = `\
  pgque bench drain --quick                                    two minutes, once, indicative
  pgque bench drain --systems pgque,graphile-worker            only these
  pgque bench drain --memory --systems pgque --processes 1 --messages 10000000 --repeat 1
                                                               whether the worker's memory grows
  npm install graphile-worker@0.18 bullmq@6 ioredis@5          what the other cells need, and redis-server from the system`;

/** The `bench drain` command. */
export function benchDrainCommand(): Command {
  const command = new Command("drain")
    .summary("Measure how fast workers drain a queue, against other queues.")
    .description(description)
    .option("--quick", "one repeat with 50000 messages; indicative only")
    .option("--messages <n>", "in each cell (default: 1000000; quick: 50000)", number)
    .option("--processes <numbers>", "of workers (default: 1,4)", numbers)
    .option(
      "--systems <names>",
      "of pgque, pgque-default, graphile-worker, graphile-worker-default, pg-boss, bullmq (default: all)",
      list,
    )
    .option("--repeat <times>", "(default: 3; quick: 1)", number)
    .option("--memory", "sample the memory of a worker process, and say whether it grows")
    .option(
      "--ahead <messages>",
      "sent before the start, the rest as it goes on (default: all; with --memory 500000)",
      number,
    );
  return scenarioCommand(command, examples, ({ runDrain }) => runDrain);
}
