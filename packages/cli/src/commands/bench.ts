import { once } from "node:events";
import os from "node:os";
import type { BenchOptions } from "@pgque/bench";
import { Command, InvalidArgumentError } from "commander";
import { Client } from "pg";
import { connectionConfig } from "../connection.ts";
import { UsageError } from "../output/failure.ts";

interface Flags {
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
  results?: string;
  json?: true;
  databaseUrl?: string;
  postgres?: number;
}

const description =
  "Measure what a held xmin horizon does to a queue. Every system is run under every horizon, in a fresh database each time: " +
  "first clean, then with the horizon held, then until the backlog is gone. Without a database to use, it starts an embedded " +
  "PostgreSQL and removes it afterwards.";

const environment = ["DATABASE_URL", "PGHOST", "PGPORT", "PGUSER", "PGDATABASE"];

const examples = `
Examples:
  pgque bench --quick                          two minutes, saturated, indicative
  pgque bench --repeat 1                       800 messages/s for three minutes a cell, about a quarter of an hour
  pgque bench --quick --systems pgque-worker   the worker instead of bare SQL
  pgque bench --database-url postgres://…      on a server of yours, in databases made for it and dropped again`;

/** The `bench` command. The benchmark itself is loaded when it runs: no other command needs it. */
export function benchCommand(): Command {
  return new Command("bench")
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
    .action(async (flags: Flags) => {
      process.exitCode = await bench(flags);
    });
}

/** The exit code: 0 when every cell has its figures. */
async function bench(flags: Flags): Promise<number> {
  const { BenchOptionError, runBench, terminalProgress, terminalReport } = await import("@pgque/bench");
  const interrupt = catchSignals();
  try {
    const progress = terminalProgress(process.stderr);
    const { results, folder } = await runBench(optionsOf(flags), { signal: interrupt.signal, progress });
    await print(flags.json ? JSON.stringify(results, null, 2) : `\n${terminalReport(results)}`);
    process.stderr.write(`\nAll of it: ${folder}\n`);
    if (results.interrupted) return interrupt.exitCode();
    return results.cells.some(({ error }) => error !== null) ? 1 : 0;
  } catch (error) {
    throw error instanceof BenchOptionError ? new UsageError(error.message) : error;
  } finally {
    interrupt.release();
  }
}

function optionsOf(flags: Flags): BenchOptions {
  const { duration, results, postgres, json: _output, databaseUrl: _url, ...same } = flags;
  const url = databaseUrlOf(flags);
  return {
    ...same,
    ...(duration === undefined ? {} : { durationSeconds: duration }),
    ...(results === undefined ? {} : { resultsFolder: results }),
    ...(postgres === undefined ? {} : { postgresMajor: postgres }),
    ...(url === undefined ? {} : { databaseUrl: url }),
  };
}

/** Undefined: an embedded server. */
function databaseUrlOf(flags: Flags): string | undefined {
  const given = [flags.databaseUrl, ...environment.map((name) => process.env[name])].some(Boolean);
  if (!given) return undefined;
  const config = connectionConfig({ ...flags, schema: "pgque" });
  if (config.connectionString && URL.canParse(config.connectionString)) return config.connectionString;
  // The PG* variables: the benchmark needs a URL, to put the names of its own databases into it.
  const { user, password, host, port, database } = new Client(config);
  const credentials = [user ?? "", ...(password ? [password] : [])].map(encodeURIComponent).join(":");
  return `postgres://${credentials}@${encodeURIComponent(host)}:${port}/${encodeURIComponent(database ?? "postgres")}`;
}

/**
 * The first signal stops the run, which keeps what was measured and removes what it made; one that comes more than three
 * seconds later ends the process. In between they are taken for the same one: a terminal and npm both pass it on.
 */
function catchSignals(): { signal: AbortSignal; exitCode(): number; release(): void } {
  const stop = new AbortController();
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
  let caught: { name: (typeof signals)[number]; atMs: number } | null = null;
  const exitCode = (): number => 128 + os.constants.signals[caught?.name ?? "SIGINT"];
  const onSignal = (name: (typeof signals)[number]): void => {
    if (caught !== null && performance.now() - caught.atMs > 3000) process.exit(exitCode());
    caught ??= { name, atMs: performance.now() };
    if (!stop.signal.aborted) process.stderr.write("\nStopping, and keeping what was measured …\n");
    stop.abort(new Error(`stopped by ${name}`));
  };
  for (const name of signals) process.on(name, onSignal);
  return {
    signal: stop.signal,
    exitCode,
    release() {
      for (const name of signals) process.off(name, onSignal);
    },
  };
}

/** Waits for a slow pipe: what is not written when the process exits is lost. */
async function print(text: string): Promise<void> {
  if (!process.stdout.write(`${text}\n`)) await once(process.stdout, "drain");
}

function number(text: string): number {
  const value = Number(text);
  if (text.trim() === "" || !Number.isFinite(value)) throw new InvalidArgumentError("Expected a number.");
  return value;
}

function list(text: string): string[] {
  return text
    .split(",")
    .map((name) => name.trim())
    .filter(Boolean);
}
