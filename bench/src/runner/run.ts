import { Failure } from "./failure.ts";
import { withCommand } from "../report/scenario-report.ts";
import type { Document } from "../report/document.ts";
import { reportFiles, makeFolder, resultsFolder, writeFolder } from "../report/files.ts";
import { documentOfMajors } from "../report/majors-document.ts";
import { measuredCode, machine, resultsVersion, type ResultsHead, postgresLine } from "../report/results.ts";
import { rotate } from "./trials.ts";
import { silent, type Progress, type Scenario, type ScenarioResults, type ScenarioSettings } from "./scenario.ts";
import { skippedText, openServers } from "./servers.ts";
import type { Server } from "./server.ts";

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

/** What was measured on one server: results that hold nothing of another, so that whatever is made of them mixes no majors. */
interface Part<Measured, Results> {
  server: Server;
  results: Results;
  measured: Measured[];
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
  /** A major that was asked for alone is reported as such. */
  const several = majors.length > 1;
  const head: ResultsHead = {
    schemaVersion: resultsVersion,
    scenario: scenario.name,
    startedAt: startedAt.toISOString(),
    machine: machine(),
    code: await measuredCode(),
    ...(command === undefined ? {} : { command }),
    ...(several ? { majors } : {}),
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
    progress.begin(headline(planned), steps.length, scenario.stepSeconds(settings, planned));
    for (const { step, part } of steps) {
      if (signal.aborted) break;
      const { server } = part;
      progress.stepStarted(scenario.stepText(step) + (several ? `, PostgreSQL ${server.version}` : ""));
      const note = progress.note.bind(progress);
      const one = await scenario.measure(step, { server, settings, signal, note });
      part.measured.push(one);
      scenario.keep(part.results, one);
      scenario.keep(results, one);
      progress.stepDone(scenario.measuredText(one));
    }
  } catch (error) {
    if (!signal.aborted) failure.note(error);
  } finally {
    progress.end();
  }
  await servers.close().catch(failure.note);
  for (const each of [results, ...parts.map((part) => part.results)])
    each.interrupted = signal.aborted || failure.isNoted;
  const measured = parts.flatMap((part) => part.measured);
  await writeFolder(folder, results, {
    ...scenario.files?.(measured),
    ...reportFiles(withCommand(document(), command)),
  });
  // after what was measured until then is kept
  await failure.check();
  return { results, folder, failed: scenario.failed(results), report };

  function headline(planned: Step[]): string {
    const kind = settings.quick ? ", quick (indicative)" : "";
    const { cores } = results.machine;
    return [
      `Pgque bench, scenario ${scenario.name}${kind}: ${scenario.headline(results, planned)}, ${cores} cores`,
      ...servers.open.map((server) => postgresLine(results.settings, server.version, server.place)),
      ...majors.filter(({ skipped }) => skipped !== null).map(skippedText),
    ].join("\n");
  }

  function document(): Document {
    const documents = parts.map((part) => ({
      postgres: part.server.version,
      document: scenario.document(part.results, part.measured, baseline),
    }));
    const [only] = documents;
    if (only !== undefined && !several) return only.document;
    const skipped = majors.flatMap(({ major, skipped: reason }) => (reason === null ? [] : [{ major, reason }]));
    return documentOfMajors(documents, skipped);
  }

  /** The tables of all servers, one after the other: a column more would not fit. */
  function report(): string {
    const texts = parts.map((part) => {
      const text = scenario.report(part.results, baseline);
      return several ? `PostgreSQL ${part.server.version}\n\n${text}` : text;
    });
    return [...texts, ...majors.filter(({ skipped }) => skipped !== null).map(skippedText)].join("\n\n\n");
  }
}

/** Every step on each server before the next step; who comes first changes from step to step, and for the same one from repeat to repeat. */
function onEachInTurn<Step, Of>(steps: Step[], parts: Of[], repeats: number): { step: Step; part: Of }[] {
  const inRepeat = Math.max(1, steps.length / repeats);
  return steps.flatMap((step, index) =>
    rotate(parts, Math.floor((index % inRepeat) + index / inRepeat)).map((part) => ({ step, part })),
  );
}
