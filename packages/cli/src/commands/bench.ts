import { Command } from "commander";
import { benchCompareCommand } from "./bench-compare.ts";
import { benchDegradationCommand } from "./bench-degradation.ts";
import { benchDrainCommand } from "./bench-drain.ts";
import { benchEngineCommand } from "./bench-engine.ts";
import { benchLatencyCommand } from "./bench-latency.ts";
import { benchPickCommand } from "./bench-pick.ts";
import { benchRetentionCommand } from "./bench-retention.ts";
import { benchSendsCommand } from "./bench-sends.ts";
import { benchSoakCommand } from "./bench-soak.ts";
import { benchTargetsCommand } from "./bench-targets.ts";
import { benchThroughputCommand } from "./bench-throughput.ts";
import { list, number, withSqlFiles } from "./bench-options.ts";
import { scenarioCommand } from "./bench-scenario.ts";

const description =
  "Measure what a held xmin horizon does to a queue. Every system is run under every horizon, in a fresh database each time: " +
  "first clean, then with the horizon held, then until the backlog is gone. Without a database to use, it starts an embedded " +
  "PostgreSQL and removes it afterwards.";

const examples = `\
  pgque bench --quick                          two minutes, saturated, indicative
  pgque bench --repeat 1                       800 messages/s for three minutes a cell, about a quarter of an hour
  pgque bench --quick --systems pgque-worker   the worker instead of bare SQL
  pgque bench --quick --baseline results/2026-01-31T08-05-00-xmin/results.json
                                               the same against an earlier run of it
  pgque bench --quick --postgres 14,18         on both, cell by cell in turn; of every scenario
  pgque bench --database-url postgres://…      on a server of yours, in databases made for it and dropped again
  pgque bench engine --quick                   figures of the engine itself: sends, WAL, latency, …
  pgque bench sends --quick                    how fast the client sends, against COPY, INSERT and other queues
  pgque bench drain --quick                    how fast workers drain a queue, against other queues
  pgque bench latency --quick                  how long a message takes to its handler, against other queues
  pgque bench throughput --quick               how fast messages are sent, and how fast received
  pgque bench pick --quick                     how long workers take to do jobs by priority
  pgque bench degradation --quick              beside a transaction that nobody ends
  pgque bench retention --quick                what a slot that keeps dead tuples for a while costs
  pgque bench soak                             whether anything grows in half an hour at a steady rate
  pgque bench compare --quick                  everything that is installed, in one table
  pgque bench targets                          which targets earlier runs have met`;

/** The `bench` command. */
export function benchCommand(): Command {
  const command = new Command("bench")
    .summary("Measure what a held xmin horizon does to a queue.")
    .description(description)
    .option("--quick", "about two minutes: saturated, one repeat; indicative only")
    .option("--duration <seconds>", "how long the horizon is held in each cell (default: 180; quick: 15)", number)
    .option(
      "--rate <messages/s>",
      "all producers together, open loop; 0: as fast as they can (default: 800; quick: 0)",
      number,
    )
    .option("--producers <n>", "(default: 4)", number)
    .option("--consumers <n>", "(default: 4)", number)
    .option("--batch <messages>", "the most one receive returns (default: 100)", number)
    .option("--send-batch <messages>", "in one send (default: 1; quick: 10)", number)
    .option("--payload-bytes <bytes>", "(default: 75)", number)
    .option(
      "--systems <names>",
      "of pgque, pgque-worker, skip-locked, skip-locked-delete, advisory-lock, que, que-patched, lock-multiple, queue-classic, " +
        "redis-batch, graphile-worker, pg-boss, bullmq, bullmq-postgres, pgmq, pgq, pgq-universal (default: pgque,skip-locked)",
      list,
    )
    .option(
      "--horizons <names>",
      "who holds the horizon; of none, repeatable-read, idle-in-transaction, prepared, pg-dump, standby-feedback, analytics, " +
        "retain-dead-tuples, logical-slot, lagging-consumer (default: none,repeatable-read)",
      list,
    )
    .option("--repeat <times>", "(default: 3; quick: 1)", number)
    .option("--baseline <file>", "the results.json of an earlier run with the same settings, to compare with")
    // what comes after the name of another scenario is that scenario's
    .enablePositionalOptions()
    .addCommand(benchEngineCommand())
    .addCommand(benchSendsCommand())
    .addCommand(benchDrainCommand())
    .addCommand(benchLatencyCommand())
    .addCommand(benchThroughputCommand())
    .addCommand(benchPickCommand())
    .addCommand(benchDegradationCommand())
    .addCommand(benchRetentionCommand())
    .addCommand(benchSoakCommand())
    .addCommand(benchCompareCommand())
    .addCommand(benchTargetsCommand());
  return scenarioCommand(withSqlFiles(command), examples, ({ runBench }) => runBench, "xmin");
}
