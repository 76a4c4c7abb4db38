import { reasonOf } from "../runner/failure.ts";
import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { drainOutcomes, drainRows, type DrainResults } from "../scenarios/drain/drain.ts";
import { latencyOutcomes, latencyRows, type LatencyResults } from "../scenarios/latency/latency.ts";
import { BenchOptionError } from "../runner/options.ts";
import type { EngineResults } from "../scenarios/engine/results.ts";
import { engineOutcomes } from "../scenarios/engine/report.ts";
import { resultsVersion, type ResultsHead } from "../report/results.ts";
import { receiveOutcomes, type ReceiveResults } from "../scenarios/receive.ts";
import { sendOutcomes, sendRows, type SendResults } from "../scenarios/send/send.ts";
import type { Results } from "../scenarios/xmin/results.ts";
import { xminOutcomes } from "../scenarios/xmin/targets.ts";
import type { TargetOutcome } from "../runner/target.ts";

/** The targets of one run, and what came of them. */
export interface TargetsOfRun {
  /** Of its results.json, as it was given. */
  folder: string;
  scenario: string;
  /** What it was run with; null of runs of before it was kept. */
  command: string | null;
  /** Why it is not to be quoted without that being said: short trials, or one repeat; null when there is nothing to say. */
  reservation: "indicative" | "once" | null;
  outcomes: TargetOutcome[];
}

type Readable = ResultsHead & { settings: { indicative: boolean; repeat?: number } };

const scenarios: Record<string, (results: never) => TargetOutcome[]> = {
  xmin: (results: Results) => xminOutcomes(results),
  engine: (results: EngineResults) => engineOutcomes(results),
  send: (results: SendResults) => sendOutcomes(sendRows(results)),
  receive: (results: ReceiveResults) => receiveOutcomes(results),
  drain: (results: DrainResults) => drainOutcomes(drainRows(results)),
  latency: (results: LatencyResults) => latencyOutcomes(latencyRows(results)),
};

/**
 * Every target of the runs in these folders, or in folders in them. Runs of scenarios without targets, and of several majors, are left out. Throws a BenchOptionError when
 * there is no results.json, or one that cannot be read.
 */
export async function targetsIn(folders: string[]): Promise<TargetsOfRun[]> {
  const runs = (await Promise.all(folders.map(runsIn))).flat();
  return runs.flatMap(({ folder, results }) => {
    const outcomes = outcomesOf(results);
    if (outcomes.length === 0) return [];
    const { scenario, command = null, settings } = results;
    return [{ folder, scenario, command, reservation: reservationOf(settings), outcomes }];
  });
}

function reservationOf({ indicative, repeat = 1 }: Readable["settings"]): TargetsOfRun["reservation"] {
  if (indicative) return "indicative";
  return repeat === 1 ? "once" : null;
}

function outcomesOf(results: Readable): TargetOutcome[] {
  return severalMajors(results) ? [] : (scenarios[results.scenario]?.(results as never) ?? []);
}

/** Their trials are not to be compared with each other. */
function severalMajors(results: Readable): boolean {
  const { postgresMajors = [] } = results.settings as { postgresMajors?: number[] };
  return postgresMajors.length > 1;
}

async function runsIn(folder: string): Promise<{ folder: string; results: Readable }[]> {
  const own = await resultsIn(folder);
  if (own !== null) return [{ folder, results: own }];
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const inner = entries.filter((entry) => entry.isDirectory()).map(({ name }) => path.join(folder, name));
  const found = await Promise.all(
    inner.toSorted().map(async (each) => ({ folder: each, results: await resultsIn(each) })),
  );
  const runs = found.flatMap(({ folder: each, results }) => (results === null ? [] : [{ folder: each, results }]));
  if (runs.length > 0) return runs;
  throw new BenchOptionError("folder", "a results folder, or a folder of such, with a results.json", folder);
}

/** Null when the folder has no results.json. */
async function resultsIn(folder: string): Promise<Readable | null> {
  const file = path.join(folder, "results.json");
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
  const results = parsed(file, text);
  const version: number = results.schemaVersion;
  if (version === resultsVersion) return results;
  throw new BenchOptionError("folder", `a results.json of schemaVersion ${resultsVersion}`, `${file}: ${version}`);
}

function parsed(file: string, text: string): Readable {
  try {
    const json: unknown = JSON.parse(text);
    if (typeof json === "object" && json !== null && "settings" in json) return json as Readable;
    throw new Error("it holds no results");
  } catch (error) {
    const reason = reasonOf(error);
    throw new BenchOptionError("folder", "a folder with the results.json of a run", `${file}: ${reason}`);
  }
}
