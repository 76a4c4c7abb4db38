import { heading, list, paragraph, type Block } from "../../report/document.ts";
import { plainTable, tableOf, type Column } from "../../report/table.ts";
import type { Results, TrialResult } from "./results.ts";
import { comparedFigures, type FigureColumn, rowsOf, spreadIn, type Row } from "./columns.ts";
import { notMeasured, ratio, spread } from "../../report/format.ts";
import { readFile } from "node:fs/promises";
import { BenchOptionError } from "../../runner/options.ts";
import type { Settings } from "./settings.ts";
import { resultsVersion } from "../../report/results.ts";

const columns: Column<Compared>[] = [
  { head: "system", cell: ({ system }) => system },
  { head: "horizon held by", cell: ({ horizon }) => horizon },
  { head: "figure", cell: ({ figure }) => figure },
  { head: "this run", cell: ({ now }) => now },
  { head: "baseline", cell: ({ before }) => before },
  { head: "this / baseline", cell: ({ ratio }) => ratio },
];
const textColumns = 3;

const title = "Against the baseline";

/** For the reports. */
export function baselineSection(results: Results, earlier: Results): Block[] {
  const baseline = likeWithLike(results, earlier);
  if (baseline.trials.length === 0) return [heading(title), ...paragraph(nothingToCompare(results))];
  return [
    heading(title),
    ...paragraph(introduction(baseline)),
    ...list(differences(results, baseline)),
    tableOf({ caption: title, columns, textColumns, absence: () => null }, compared(results, baseline)),
  ];
}

/** For a terminal. */
export function baselineTable(results: Results, earlier: Results): string {
  const baseline = likeWithLike(results, earlier);
  if (baseline.trials.length === 0) return nothingToCompare(results);
  const heads = columns.map(({ head }) => head);
  const table = plainTable(heads, textColumns);
  let before: Compared | undefined;
  for (const row of compared(results, baseline)) {
    const same = row.system === before?.system && row.horizon === before.horizon;
    if (!same) table.push([{ colSpan: heads.length, content: "" }]);
    table.push(columns.map(({ cell }, index) => (same && index < 2 ? "" : cell(row))));
    before = row;
  }
  return [introduction(baseline), table.toString(), ...differences(results, baseline)].join("\n");
}

const nothingToCompare = ({ trials }: Results): string =>
  `The baseline has no trials of PostgreSQL ${[...new Set(trials.map(majorOf))].join(", ")} to compare these with.`;

const introduction = ({ startedAt }: Results): string =>
  `The baseline is the run of ${startedAt.slice(0, 16).replace("T", " ")} UTC. A ratio is that of the medians.`;

/**
 * What of a baseline this run's trials, which are of one server, can be compared with: its trials of the same major. A run of one major is compared with a
 * baseline of one other too: that they differ is told. Without trials: there is nothing to compare with.
 */
export function likeWithLike({ trials, majors }: Pick<Results, "trials" | "majors">, baseline: Results): Results {
  const own = new Set(trials.map(majorOf));
  const same = baseline.trials.filter((trial) => own.has(majorOf(trial)));
  const several = majors !== undefined || new Set(baseline.trials.map(majorOf)).size > 1;
  return same.length === 0 && !several ? baseline : { ...baseline, trials: same };
}

/** 17 of "17.10", and "19beta1" is of 19. */
const majorOf = ({ postgres }: { postgres: string }): number => Number.parseInt(postgres, 10);

/** One figure of one system under one horizon, in this run and in an earlier one. */
export interface Compared {
  system: string;
  horizon: string;
  figure: string;
  /** Medians, and ranges in brackets. */
  now: string;
  before: string;
  /** Of the medians; where one is missing or the earlier one is zero there is none. */
  ratio: string;
}

/** Every row of this run that the baseline has too. */
export function compared(results: Results, baseline: Results): Compared[] {
  const earlier = rowsOf(baseline);
  return rowsOf(results).flatMap((row) => {
    const before = earlier.find(({ system, horizon }) => system === row.system && horizon === row.horizon);
    return before === undefined ? [] : comparedFigures.flatMap((figure) => comparedBy(figure, row, before));
  });
}

/** What a reader should know before comparing: this is not the baseline's machine, server or number of repeats. */
export function differences(results: Results, baseline: Results): string[] {
  const about = ({ machine, trials, settings }: Results): [string, string][] => [
    ["machine", `${machine.cpu}, ${machine.cores} cores`],
    ["Node.js", machine.node],
    ["PostgreSQL", [...new Set(trials.map(({ postgres }) => postgres))].join(", ")],
    ["repeats", String(settings.repeat)],
    ...Object.entries(settings.server),
  ];
  const before = new Map(about(baseline));
  const lines = about(results).flatMap(([name, now]) => {
    const then = before.get(name) ?? "not known";
    return then === now ? [] : [`${name}: ${now}, in the baseline ${then}`];
  });
  return baseline.interrupted ? [...lines, "the baseline was interrupted"] : lines;
}

/** Nothing, where neither of them has it. */
function comparedBy({ head, pick, format }: FigureColumn, row: Row, earlier: Row): Compared[] {
  const [now, before] = [spreadIn(row, pick), spreadIn(earlier, pick)];
  if (now === null && before === null) return [];
  const compared = {
    system: row.system,
    horizon: row.horizon,
    figure: head,
    now: spread(now, format),
    before: spread(before, format),
    ratio: now === null || before === null || before.median === 0 ? notMeasured : ratio(now.median / before.median),
  };
  return [compared];
}

/** What two runs must have in common for their figures to be compared, by the name of its option. */
const decisive: Record<string, (settings: Partial<Settings>) => unknown> = {
  quick: (settings) => settings.quick,
  duration: (settings) => settings.heldSeconds,
  rate: (settings) => settings.rate,
  producers: (settings) => settings.producers,
  consumers: (settings) => settings.consumers,
  batch: (settings) => settings.batch,
  "send-batch": (settings) => settings.sendBatch,
  "payload-bytes": (settings) => settings.payloadBytes,
};

/**
 * The results.json of an earlier run, to compare this one with. Throws a BenchOptionError when it cannot be read or is of something
 * else: another scenario, another version of the format, settings under which figures differ whatever the code does.
 */
export async function readBaseline(file: string, scenario: string, settings: Settings): Promise<Results> {
  const earlier = await parsed(file);
  const refuse = (expected: string, got: string): BenchOptionError => new BenchOptionError("baseline", expected, got);
  if (earlier.schemaVersion !== resultsVersion) {
    throw refuse(`a results.json of schemaVersion ${resultsVersion}`, `schemaVersion ${String(earlier.schemaVersion)}`);
  }
  if (earlier.scenario !== scenario) {
    throw refuse(`a results.json of the scenario ${scenario}`, `one of the scenario ${String(earlier.scenario)}`);
  }
  if (!Array.isArray(earlier.trials) || typeof earlier.settings !== "object") {
    throw refuse("a results.json with settings and trials", "one without");
  }
  const there: Partial<Settings> = earlier.settings;
  const different = Object.entries(decisive).flatMap(([option, of]) =>
    of(there) === of(settings) ? [] : [`${option} ${String(of(there))} (this run: ${String(of(settings))})`],
  );
  if (different.length > 0) throw refuse("a run with the same settings as this one", different.join(", "));
  const common = earlier.trials.some(
    ({ system, horizon }) => settings.systems.includes(system) && settings.horizons.includes(horizon),
  );
  if (!common) {
    const wanted = `${settings.systems.join(", ")} under ${settings.horizons.join(", ")}`;
    throw refuse(`a run with at least one trial of ${wanted}`, "one without");
  }
  return { ...(earlier as Results), trials: earlier.trials.map(ofToday) };
}

async function parsed(file: string): Promise<Partial<Results>> {
  try {
    const json: unknown = JSON.parse(await readFile(file, "utf8"));
    if (typeof json === "object" && json !== null) return json;
    throw new Error("it holds no object");
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new BenchOptionError("baseline", "the results.json of an earlier run", `${file}: ${reason}`);
  }
}

const skippedBecause = "skipped, because ";

/** Before there was the field `skipped` its reason was an error that began so. */
function ofToday(trial: TrialResult): TrialResult {
  const { error, skipped } = trial;
  if (skipped !== undefined) return trial;
  const reason = error?.startsWith(skippedBecause) ? error.slice(skippedBecause.length) : null;
  return { ...trial, skipped: reason, error: reason === null ? error : null };
}
