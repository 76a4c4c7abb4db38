import type { BenchOptions } from "@pgque/bench";
import { Command } from "commander";
import { benchEngineCommand } from "./bench-engine.ts";
import { commonOptions, list, number, type CommonFlags } from "./bench-options.ts";
import { runScenario } from "./bench-run.ts";

interface Flags extends CommonFlags {
  quick?: true;
  duration?: number;
  rate?: number;
  producers?: number;
  consumers?: number;
  batch?: number;
  sendBatch?: number;
  payloadBytes?: number;
  systems?: string[];
  horizons?: string[];
  repeat?: number;
}

const description =
  "Measure what a held xmin horizon does to a queue. Every system is run under every horizon, in a fresh database each time: " +
  "first clean, then with the horizon held, then until the backlog is gone. Without a database to use, it starts an embedded " +
  "PostgreSQL and removes it afterwards.";

const examples = `
Examples:
  pgque bench --quick                          two minutes, saturated, indicative
  pgque bench --repeat 1                       800 messages/s for three minutes a cell, about a quarter of an hour
  pgque bench --quick --systems pgque-worker   the worker instead of bare SQL
  pgque bench --database-url postgres://…      on a server of yours, in databases made for it and dropped again
  pgque bench engine --quick                   figures of the engine itself: sends, WAL, latency, …`;

/** The `bench` command. The benchmark itself is loaded when it runs: no other command needs it. */
export function benchCommand(): Command {
  return (
    new Command("bench")
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
        "of pgque, skip-locked, skip-locked-delete, pgque-worker (default: pgque,skip-locked)",
        list,
      )
      .option("--horizons <names>", "of none, repeatable-read (default: both)", list)
      .option("--repeat <times>", "(default: 3; quick: 1)", number)
      .option("--results <folder>", "(default: results/<time>-xmin)")
      .option("--json", "print results.json instead of the table")
      .option("--database-url <url>", "the server to use (default: DATABASE_URL, PG* variables, else an embedded one)")
      .option("--postgres <major>", "of the embedded server, 14 to 18 (default: 17)", number)
      .addHelpText("after", examples)
      // what comes after the name of another scenario is that scenario's
      .enablePositionalOptions()
      .addCommand(benchEngineCommand())
      .action(async (flags: Flags) => {
        process.exitCode = await bench(flags);
      })
  );
}

async function bench(flags: Flags): Promise<number> {
  const { runBench, terminalProgress, terminalReport } = await import("@pgque/bench");
  return runScenario(flags.json ?? false, async (signal) => {
    const progress = terminalProgress(process.stderr);
    const { results, folder } = await runBench(optionsOf(flags), { signal, progress });
    const failed = results.cells.some(({ error }) => error !== null);
    return { results, folder, failed, report: () => terminalReport(results) };
  });
}

function optionsOf(flags: Flags): BenchOptions {
  const { duration, results: _folder, postgres: _major, json: _output, databaseUrl: _url, ...same } = flags;
  return {
    ...same,
    ...commonOptions(flags),
    ...(duration === undefined ? {} : { durationSeconds: duration }),
  };
}
