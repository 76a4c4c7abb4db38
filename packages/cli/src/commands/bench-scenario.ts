import type { Run, RunHooks, ScenarioResults } from "@pgque/bench";
import type { Command } from "commander";
import { benchLine } from "./bench-line.ts";
import { commonOptions, refuseMisplaced, withCommonOptions, type CommonFlags } from "./bench-options.ts";
import { exitCodeOf } from "./bench-run.ts";

type Bench = typeof import("@pgque/bench");

/**
 * A scenario of the benchmark as a command: its own options, then those that all have. `name`: of the scenario. The benchmark itself is loaded when it runs: no other
 * command needs it.
 */
export function scenarioCommand(
  command: Command,
  examples: string,
  scenario: (bench: Bench) => (options: never, hooks: RunHooks) => Promise<Run<ScenarioResults>>,
  name = command.name(),
): Command {
  return withCommonOptions(command, name)
    .addHelpText("after", `\nExamples:\n${examples}`)
    .action(async (flags: CommonFlags) => {
      refuseMisplaced(command);
      process.exitCode = await exitCodeOf(flags.json ?? false, async (hooks) =>
        // what commander has parsed has no types; the scenario checks each value
        scenario(await import("@pgque/bench"))(optionsOf(flags) as never, { ...hooks, command: benchLine(command) }),
      );
    });
}

/** Flags have the names of options, but where one without its unit, or without the word file, reads better. */
function optionsOf(flags: CommonFlags): object {
  const { duration, baseline, results: _folder, postgres: _major, json: _output, databaseUrl: _url, ...same } = flags;
  return {
    ...same,
    ...commonOptions(flags),
    ...(duration === undefined ? {} : { durationSeconds: duration }),
    ...(baseline === undefined ? {} : { baselineFile: baseline }),
  };
}
