import path from "node:path";
import type { Flag, Run, RunHooks, ScenarioResults } from "@pgque/bench";
import { Command } from "commander";
import { Client } from "pg";
import { connectionConfig, databaseVariables } from "../connection.ts";
import { loadBench } from "../optional-packages.ts";
import { flag, given, list, number, numbers } from "../options.ts";
import { UsageError } from "../output/failure.ts";
import { printLine } from "../output/print.ts";
import { exitCodeOf, stopSignals } from "../signals.ts";
import { type BenchScenario, scenarios, xmin } from "./bench-scenarios.ts";

/** What scenarios declare of their options, by name. */
export type ScenarioFlags = Record<string, Flag[]>;

/** The `bench` command. Without \`declared\` its scenarios lack options, and cannot be run. */
export function benchCommand(declared: ScenarioFlags = {}): Command {
  const bench = scenarioCommand(xmin, declared, "bench")
    // options behind the name of another scenario are that scenario's
    .enablePositionalOptions();
  for (const scenario of scenarios) bench.addCommand(scenarioCommand(scenario, declared));
  return bench.addCommand(targetsCommand());
}

const setting = `
Each trial has a fresh database. Without a database to use, an embedded PostgreSQL is started and removed afterwards.
A system that is not installed is skipped, and the report says so: npm install graphile-worker@0.18 pg-boss bullmq@6
ioredis@5 zod@4 brings all that npm has. BullMQ's trials start a redis-server from the PATH.`;

/** The options that every scenario has. */
interface CommonFlags {
  /** Seconds; of scenarios that have one. */
  duration?: number;
  /** A file; of scenarios that compare with an earlier run. */
  baseline?: string;
  results?: string;
  json?: true;
  databaseUrl?: string;
  postgres?: number[];
}

const readers: Record<NonNullable<Flag["value"]>, (text: string) => unknown> = { number, numbers, names: list };

function scenarioCommand(scenario: BenchScenario, declared: ScenarioFlags, name = scenario.name): Command {
  const command = new Command(name).summary(scenario.summary).description(`${scenario.summary} ${scenario.details}`);
  // the benchmark is not installed: whatever its options are, that is said
  if (declared[scenario.name] === undefined) command.allowUnknownOption().allowExcessArguments();
  command.option("--quick", `${scenario.quick}; indicative only`);
  for (const { flag, help, value } of declared[scenario.name] ?? []) {
    if (value) command.option(flag, help, readers[value]);
    else command.option(flag, help);
  }
  return command
    .option("--results <folder>", `(default: results/<time>-${scenario.name})`)
    .addOption(flag("--json", "print results.json instead of the tables"))
    .addOption(
      flag("--database-url <url>", "the server to use (default: DATABASE_URL, PG* variables, else an embedded one)"),
    )
    .option(
      "--postgres <majors>",
      "of the embedded servers, some of 14 to 18: all is run on each in turn (default: 17)",
      numbers,
    )
    .addHelpText("after", `${setting}\n\nExamples:${scenario.examples}`)
    .action(async (flags: CommonFlags) => {
      refuseMisplaced(command);
      const options = optionsOf(flags);
      process.exitCode = await run(flags.json ?? false, async (hooks) =>
        // what commander has parsed has no types; the scenario checks each value
        scenario.run(await loadBench())(options as never, { ...hooks, command: commandLine(command) }),
      );
    });
}

/** Options before the scenario's name are those of another scenario: to ignore them would measure something else than was asked for. */
function refuseMisplaced(scenario: Command): void {
  const { parent } = scenario;
  const misplaced = parent?.options.find((option) => parent.getOptionValueSource(option.attributeName()) === "cli");
  if (misplaced === undefined) return;
  throw new UsageError(
    `expected options of the scenario ${scenario.name()} after its name, got before it: ${misplaced.long}`,
  );
}

/** Flags have the names of options, but where one without its unit, or without the word file, reads better. */
function optionsOf(flags: CommonFlags): object {
  const { duration, baseline, results, postgres, json: _output, databaseUrl: _url, ...same } = flags;
  return given({
    ...same,
    resultsFolder: results,
    postgresMajors: postgres,
    databaseUrl: databaseUrlOf(flags),
    durationSeconds: duration,
    baselineFile: baseline,
  });
}

/** Undefined: an embedded server. */
function databaseUrlOf(flags: { databaseUrl?: string }): string | undefined {
  if (![flags.databaseUrl, ...databaseVariables.map((name) => process.env[name])].some(Boolean)) return undefined;
  const config = connectionConfig(flags);
  if (config.connectionString && URL.canParse(config.connectionString)) return config.connectionString;
  // The PG* variables: the benchmark needs a URL, to put the names of its own databases into it.
  const { user, password, host, port, database } = new Client(config);
  const credentials = [user ?? "", ...(password ? [password] : [])].map(encodeURIComponent).join(":");
  return `postgres://${credentials}@${encodeURIComponent(host)}:${port}/${encodeURIComponent(database ?? "postgres")}`;
}

/** What does not change what is measured, or may hold a secret. */
const omitted = new Set(["databaseUrl", "results", "baseline", "json"]);

/** Options whose value is a file: which one says its name, where it is on this machine says nothing. */
const files = new Set(["pgmqSql", "pgqSql", "pgqUniversalSql"]);

/** The command with its options as they were given, for whoever wants to run it again: without connections and places. */
function commandLine(command: Command): string {
  const names: string[] = [];
  for (let each: Command | null = command; each !== null; each = each.parent) names.unshift(each.name());
  const options = command.options.flatMap((option) => {
    const name = option.attributeName();
    if (command.getOptionValueSource(name) !== "cli" || omitted.has(name)) return [];
    const value: unknown = command.getOptionValue(name);
    if (value === true) return [option.long];
    return [option.long, files.has(name) ? path.basename(String(value)) : String(value)];
  });
  return ["npx", ...names, ...options].join(" ");
}

/**
 * Runs a scenario, prints what it found and returns the exit code: 0 when everything has its figures. A signal stops the run, which keeps
 * what was measured and removes what it made; another one ends the process.
 */
async function run(json: boolean, scenario: (hooks: RunHooks) => Promise<Run<ScenarioResults>>): Promise<number> {
  const { BenchOptionError, terminalProgress } = await loadBench();
  const stop = new AbortController();
  const { first, second } = stopSignals();
  let stoppedBy: NodeJS.Signals = "SIGINT";
  const interrupt = (signal: NodeJS.Signals): void => {
    stoppedBy = signal;
    process.stderr.write("\nStopping, and keeping what was measured …\n");
    stop.abort(new Error(`stopped by ${signal}`));
  };
  void first.then(interrupt);
  void second.then((signal) => process.exit(exitCodeOf(signal)));
  try {
    const progress = terminalProgress(process.stderr);
    const { results, folder, report, failed } = await scenario({ signal: stop.signal, progress });
    await printLine(json ? JSON.stringify(results, null, 2) : `\n${report()}`);
    process.stderr.write(`\nAll of it: ${folder}\n`);
    if (results.interrupted) return exitCodeOf(stoppedBy);
    return failed ? 1 : 0;
  } catch (error) {
    throw error instanceof BenchOptionError ? new UsageError(error.message) : error;
  }
}

function targetsCommand(): Command {
  const command = new Command("targets")
    .summary("Print which targets earlier runs have met.")
    .description(
      "Read the results of earlier runs, and print for each target that Pgque sets itself what was measured, over its repeats, and whether it is met. " +
        "Nothing is run. Scenarios with targets are xmin, engine, send, drain and latency.",
    )
    .argument("[folder...]", "results folders, or folders of such (default: results)")
    .option("--markdown", "a table for a document")
    .addOption(flag("--json", "an array of runs with their outcomes"));
  return command
    .addHelpText(
      "after",
      `
Examples:
  pgque bench targets                       of every run in results
  pgque bench targets bench/results --markdown
  pgque bench targets results/2026-01-31T08-05-00-drain --json`,
    )
    .action(async (folders: string[], flags: { markdown?: true; json?: true }) => {
      refuseMisplaced(command);
      const { BenchOptionError, targetsIn, targetsMarkdown, targetsTerminal } = await loadBench();
      try {
        const runs = await targetsIn(folders.length === 0 ? ["results"] : folders);
        const text = flags.markdown ? targetsMarkdown(runs).trimEnd() : targetsTerminal(runs);
        await printLine(flags.json ? JSON.stringify(runs, null, 2) : text);
      } catch (error) {
        throw error instanceof BenchOptionError ? new UsageError(error.message) : error;
      }
    });
}
