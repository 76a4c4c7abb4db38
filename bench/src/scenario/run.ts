import { Failure } from "../failure.ts";
import { withCommand } from "../report/closing.ts";
import { reportFiles } from "../report/files.ts";
import { makeFolder, resultsFolder, writeFolder } from "../report/folder.ts";
import { measuredCode } from "../report/measured-code.ts";
import { machine } from "../report/machine.ts";
import { resultsVersion, type ResultsHead } from "../report/results.ts";
import { postgresLine } from "../report/server-line.ts";
import { turned } from "./turned.ts";
import { documentOf, terminalReportOf, type Part } from "./parts.ts";
import { silent, type Progress } from "./progress.ts";
import type { Scenario, ScenarioResults, ScenarioSettings, StepContext } from "./scenario.ts";
import { notRunText, openServers, type MajorRun, type Servers } from "./servers.ts";

export interface RunHooks {
  /** Stops the run; what was measured until then is kept. */
  signal?: AbortSignal;
  /** Default: nobody is told. */
  progress?: Progress;
  /** How to run the same again, for the report. It must hold no secret. Default: not said. */
  command?: string;
}

export interface Run<Results> {
  results: Results;
  /** Where results.json and the reports are. */
  folder: string;
  /** Something has no figures although it was run. */
  failed: boolean;
  /** The tables for a terminal. */
  report: () => string;
}

/**
 * Runs a scenario, on every major that is asked for, and writes the results folder. Throws a BenchOptionError for an option that cannot be used; what fails is in the results
 * with its reason, what needs something that is not installed says so, and the run goes on.
 */
export async function runScenario<
  Options,
  Settings extends ScenarioSettings,
  Step,
  Measured,
  Results extends ScenarioResults,
>(
  scenario: Scenario<Options, Settings, Step, Measured, Results>,
  options: Options,
  { signal = new AbortController().signal, progress = silent, command }: RunHooks,
): Promise<Run<Results>> {
  const settings = scenario.resolve(options);
  const baseline = (await scenario.baseline?.(settings)) ?? null;
  const startedAt = new Date();
  const folder = resultsFolder(settings.resultsFolder, scenario.name, startedAt);
  await makeFolder(folder);
  const servers = await openServers(settings, scenario.serverSettings?.(settings));
  const { majors } = servers;
  const head: ResultsHead = {
    schemaVersion: resultsVersion,
    scenario: scenario.name,
    startedAt: startedAt.toISOString(),
    machine: machine(),
    code: await measuredCode(),
    ...(command === undefined ? {} : { command }),
    ...(majors.length > 1 ? { majors } : {}),
  };
  const results = scenario.results(head, settings, servers.open[0]);
  const parts = servers.open.map((server): Part<Measured, Results> => ({
    server,
    results: scenario.results(head, settings, server),
    measured: [],
  }));
  const failure = new Failure();
  try {
    const steps = onEachInTurn(scenario.plan(settings), parts, settings.repeat ?? 1);
    const planned = steps.map(({ step }) => step);
    progress.begin(headOf(scenario, results, planned, servers), steps.length, scenario.stepSeconds(settings, planned));
    for (const { step, part } of steps) {
      if (signal.aborted) break;
      progress.stepStarted(stepText(scenario, step, part, majors));
      const context = { server: part.server, settings, signal, note: progress.note.bind(progress) };
      const one = await unlessStopped(scenario, step, context);
      if (one === undefined) break;
      part.measured.push(one);
      scenario.keep(part.results, one);
      scenario.keep(results, one);
      progress.stepDone(scenario.measuredText(one));
    }
  } catch (error) {
    failure.note(error);
  } finally {
    progress.end();
  }
  await servers.close().catch(failure.note);
  for (const each of [results, ...parts.map((part) => part.results)])
    each.interrupted = signal.aborted || failure.isNoted;
  const reports = reportFiles(withCommand(documentOf(scenario, parts, majors, baseline), command));
  const measured = parts.flatMap((part) => part.measured);
  await writeFolder(folder, results, { ...scenario.files?.(measured), ...reports });
  // after what was measured until then is kept
  await failure.check();
  return {
    results,
    folder,
    failed: scenario.failed(results),
    report: () => terminalReportOf(scenario, parts, majors, baseline),
  };
}

/** Every step on each server before the next step; who comes first changes from step to step, and for the same one from repeat to repeat. */
function onEachInTurn<Step, Of>(steps: Step[], parts: Of[], repeats: number): { step: Step; part: Of }[] {
  const inRepeat = Math.max(1, steps.length / repeats);
  return steps.flatMap((step, index) =>
    turned(parts, Math.floor((index % inRepeat) + index / inRepeat)).map((part) => ({ step, part })),
  );
}

function stepText<Step>(
  scenario: Pick<Scenario<never, never, Step, never, never>, "stepText">,
  step: Step,
  { server }: Pick<Part<never, never>, "server">,
  majors: MajorRun[],
): string {
  return scenario.stepText(step) + (majors.length > 1 ? `, PostgreSQL ${server.version}` : "");
}

async function unlessStopped<Settings, Step, Measured>(
  scenario: Pick<Scenario<never, Settings, Step, Measured, never>, "measure">,
  step: Step,
  context: StepContext<Settings>,
): Promise<Measured | undefined> {
  try {
    return await scenario.measure(step, context);
  } catch (error) {
    if (context.signal.aborted) return undefined;
    throw error;
  }
}

function headOf<Step, Results extends ScenarioResults>(
  scenario: Pick<Scenario<never, never, Step, never, Results>, "name" | "headline">,
  results: Results,
  steps: Step[],
  { open, majors }: Servers,
): string {
  const { settings, machine } = results;
  const kind = settings.quick ? ", quick (indicative)" : "";
  return [
    `Pgque bench, scenario ${scenario.name}${kind}: ${scenario.headline(results, steps)}, ${machine.cores} cores`,
    ...open.map((server) => postgresLine(settings, server.version, server.place)),
    ...majors.filter(({ notRun }) => notRun !== null).map(notRunText),
  ].join("\n");
}
