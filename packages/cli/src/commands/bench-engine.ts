import type { EngineOptions } from "@pgque/bench";
import { Command } from "commander";
import { UsageError } from "../output/failure.ts";
import { commonOptions, list, number, type CommonFlags } from "./bench-options.ts";
import { runScenario } from "./bench-run.ts";

interface Flags extends CommonFlags {
  quick?: true;
  figures?: string[];
  repeat?: number;
}

const description =
  "Measure the engine itself, each figure against the target set for it: sends and finished messages a second against plain tables, " +
  "WAL, idle polls, latency, a large backlog, rotation, many queues, the cost of features. Each in fresh databases. Without a database to use, it starts an embedded " +
  "PostgreSQL and removes it afterwards.";

const examples = `
Examples:
  pgque bench engine --quick                    small sizes, a few minutes, indicative
  pgque bench engine --figures send,latency     only these
  pgque bench engine --repeat 1 --json          everything once, results.json on standard output`;

/** The `bench engine` command. */
export function benchEngineCommand(): Command {
  return new Command("engine")
    .summary("Measure the engine itself: sends, WAL, latency, rotation, …")
    .description(description)
    .option("--quick", "small sizes, one repeat; indicative only")
    .option(
      "--figures <names>",
      "of send, finish, wal, idle, latency, backlog, rotation, queues, features (default: all)",
      list,
    )
    .option("--repeat <times>", "(default: 3; quick: 1)", number)
    .option("--results <folder>", "(default: results/<time>-engine)")
    .option("--json", "print results.json instead of the table")
    .option("--database-url <url>", "the server to use (default: DATABASE_URL, PG* variables, else an embedded one)")
    .option("--postgres <major>", "of the embedded server, 14 to 18 (default: 17)", number)
    .addHelpText("after", examples)
    .action(async (flags: Flags, command: Command) => {
      refuseMisplaced(command);
      process.exitCode = await bench(flags);
    });
}

/** Options before the scenario's name are those of another scenario: to ignore them would measure something else than was asked for. */
function refuseMisplaced({ parent }: Command): void {
  const given = parent?.options.filter((option) => parent.getOptionValueSource(option.attributeName()) === "cli") ?? [];
  const [first] = given;
  if (first === undefined) return;
  throw new UsageError(`expected options of the scenario engine after its name, got before it: ${first.long}`);
}

async function bench(flags: Flags): Promise<number> {
  const { engineTerminalProgress, engineTerminalReport, runEngine } = await import("@pgque/bench");
  return runScenario(flags.json ?? false, async (signal) => {
    const progress = engineTerminalProgress(process.stderr);
    const { results, folder } = await runEngine(optionsOf(flags), { signal, progress });
    const failed = results.figures.some(({ error }) => error !== null);
    return { results, folder, failed, report: () => engineTerminalReport(results) };
  });
}

function optionsOf(flags: Flags): EngineOptions {
  const { results: _folder, postgres: _major, json: _output, databaseUrl: _url, ...same } = flags;
  return { ...same, ...commonOptions(flags) };
}
