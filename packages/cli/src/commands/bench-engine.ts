import { Command } from "commander";
import { list, number } from "./bench-options.ts";
import { scenarioCommand } from "./bench-scenario.ts";

const description =
  "Measure the engine itself, each figure against the target set for it: sends and finished messages a second against plain tables, " +
  "WAL, idle polls, latency, a large backlog, ring, rotation, many queues, the memory of a session, the cost of features, large batches settled. Each in fresh databases. Without a database to use, it starts an embedded " +
  "PostgreSQL and removes it afterwards.";

const examples = `\
  pgque bench engine --quick                    small sizes, a few minutes, indicative
  pgque bench engine --figures send,latency     only these
  pgque bench engine --repeat 1 --json          everything once, results.json on standard output`;

/** The `bench engine` command. */
export function benchEngineCommand(): Command {
  const command = new Command("engine")
    .summary("Measure the engine itself: sends, WAL, latency, rotation, …")
    .description(description)
    .option("--quick", "small sizes, one repeat; indicative only")
    .option(
      "--figures <names>",
      "of send, finish, wal, idle, latency, backlog, ring, rotation, queues, memory, features, settle (default: all)",
      list,
    )
    .option("--repeat <times>", "(default: 3; quick: 1)", number);
  return scenarioCommand(command, examples, ({ runEngine }) => runEngine);
}
