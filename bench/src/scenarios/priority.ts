import { createHash } from "node:crypto";
import type { Job, Picker } from "../adapters/adapter.ts";
import { named, pickerNames, pickers } from "../adapters/registry.ts";
import { openDatabase } from "../runner/server.ts";
import { startCpuUse, serverCpu } from "../measure/processes.ts";
import { cpuMs, ratio, spread, whole } from "../report/format.ts";
import { described } from "../report/document.ts";
import type { Spread } from "../report/results.ts";
import { reportRows, type Column } from "../report/table.ts";
import { caveatsOf, figureOf, reporting, type ScenarioReport } from "../report/scenario-report.ts";
import {
  emptyResults,
  keepTrial,
  measuredTrial,
  ratioOf,
  rowOf,
  someFailed,
  systemsInTurn,
  type Trial,
  type TrialResults,
  type FiguresRow,
  type SystemPlan,
  outcomeText,
  repeatText,
} from "../runner/trials.ts";
import {
  integerOption,
  namesOption,
  repeatOption,
  settingsOf,
  type OptionsOf,
  type SettingsOf,
} from "../runner/options.ts";
import { runScenario, type Run, type RunHooks } from "../runner/run.ts";
import type { Scenario, StepContext } from "../runner/scenario.ts";

export const priorityOptions = {
  jobs: integerOption(["jobs <n>", ""], [1, 10_000_000], 10_000, 2000),
  /** Each with a connection of its own, or two. */
  workers: integerOption(["workers <n>", ""], [1, 100], 8),
  systems: namesOption(["systems <names>", ""], pickerNames),
  repeat: repeatOption(5, 1),
};

/** What a user of the scenario `priority` may choose. */
export type PriorityOptions = OptionsOf<typeof priorityOptions>;

type PrioritySettings = SettingsOf<typeof priorityOptions> & {
  synchronousCommit: "on" | "off";
  autovacuumNaptimeSeconds: number;
};

/** Throws a BenchOptionError for the first option that cannot be used. */
export function resolvePrioritySettings(given: PriorityOptions): PrioritySettings {
  return { ...settingsOf(priorityOptions, given), synchronousCommit: "on", autovacuumNaptimeSeconds: 10 };
}

/** What was measured. Null: could not be. */
export interface PriorityFigures {
  /** Until every job was done, by any of the workers. */
  seconds: number;
  /** Of all of PostgreSQL's processes. */
  serverCpuSeconds: number | null;
  /** Of the process of the workers. */
  clientCpuSeconds: number;
  /** Jobs that were begun while more of a higher priority were left than the other workers could have in flight: 0 in perfect order. */
  outOfOrder: number | null;
}

export type PriorityTrial = Trial<SystemPlan, PriorityFigures>;
export type PriorityResults = TrialResults<PrioritySettings, PriorityTrial>;

/** The slowest, before anything is known: a guess that the first trials correct. */
const jobsPerSecond = 700;
const overheadSeconds = 2;

const priority: Scenario<PriorityOptions, PrioritySettings, SystemPlan, PriorityTrial, PriorityResults> = {
  name: "priority",
  resolve: resolvePrioritySettings,
  results: emptyResults,
  plan: systemsInTurn,
  measure: (plan, context) => measuredTrial(plan, context, () => measurePriority(plan.system, context)),
  keep: keepTrial,
  ...reporting(priorityReport),
  failed: someFailed,
  headline: ({ settings }) =>
    `${settings.systems.join(", ")}; ${whole(settings.jobs)} jobs, ${settings.workers} workers, ${settings.repeat} repeat(s)`,
  stepSeconds: ({ jobs }) => jobs / jobsPerSecond + overheadSeconds,
  stepText: ({ system, repeat }) => `${system}${repeatText(repeat)}`,
  measuredText: (trial) => outcomeText(trial, ({ seconds }) => `${seconds.toFixed(1)} s`),
};

/** Has workers do jobs by priority, one at a time, as often as asked. See runScenario. */
export function runPriority(given: PriorityOptions, hooks: RunHooks = {}): Promise<Run<PriorityResults>> {
  return runScenario(priority, given, hooks);
}

/** Priorities that jobs have, 0 to 9. */
const priorities = 10;

/** Workers do all the jobs that were there at the start. Throws when a job was done twice or never. */
export async function measurePriority(
  system: string,
  { server, settings, signal, note }: StepContext<PrioritySettings>,
): Promise<PriorityFigures> {
  const picker = named(pickers, system);
  const database = await openDatabase(server, settings.synchronousCommit);
  try {
    const admin = await database.connect("admin");
    const site = { admin, connect: database.connect };
    note("set-up");
    const jobs = Array.from({ length: settings.jobs }, (_, number): Job => ({ number, priority: hashed(number) }));
    await picker.prepare(
      site,
      jobs.map((job) => ({ priority: job.priority, payload: JSON.stringify(job) })),
    );
    const done: Job[] = [];
    const work = (payload: string): void => {
      createHash("md5").update(payload).digest();
      done.push(JSON.parse(payload) as Job);
    };
    const workers = await Promise.all(
      Array.from({ length: picker.connections ?? settings.workers }, () => picker.worker(site, work)),
    );
    await server.checkpoint();
    note("work");
    const cpu = await startCpuUse(await serverCpu(admin));
    const startMs = performance.now();
    await Promise.all(
      workers.map(async (next) => {
        while (await next()) signal.throwIfAborted();
      }),
    );
    const seconds = (performance.now() - startMs) / 1000;
    const { serverCpuSeconds, harnessCpuSeconds } = await cpu.used();
    if (done.length !== jobs.length || new Set(done.map(({ number }) => number)).size !== jobs.length)
      throw new Error(`expected each of ${jobs.length} jobs to be done once, got: ${done.length} done`);
    return {
      seconds,
      serverCpuSeconds,
      clientCpuSeconds: harnessCpuSeconds,
      outOfOrder: picker.ordered === false ? null : outOfOrder(done, settings.workers),
    };
  } finally {
    await database.close();
  }
}

/** The same priorities in every trial, spread as by chance. */
function hashed(number: number): number {
  return createHash("md5").update(String(number)).digest().readUInt32BE() % priorities;
}

/** How many jobs were begun while more of a higher priority were left than the other workers could have had in hand. */
export function outOfOrder(done: Pick<Job, "priority">[], workers: number): number {
  const left = Array.from({ length: priorities }, () => 0);
  let count = 0;
  for (const { priority } of done.toReversed()) {
    const higher = left.slice(priority + 1).reduce((sum, of) => sum + of, 0);
    if (higher >= workers) count += 1;
    left[priority] = (left[priority] ?? 0) + 1;
  }
  return count;
}

/** All repeats of one picker. */
interface PriorityRow extends FiguresRow<PriorityFigures> {
  picker: Picker;
  jobs: number;
  /** Within each repeat: the seconds of skip-locked over this one's. */
  ratio: Spread | null;
}

/** The others are compared with it. */
const reference = "skip-locked";

/** In the order of the settings. */
function priorityRows({ trials, settings }: PriorityResults): PriorityRow[] {
  const of = (name: string): PriorityTrial[] => trials.filter(({ system }) => system === name);
  return settings.systems.flatMap((name): PriorityRow[] => {
    const row = rowOf(of(name));
    if (row === null) return [];
    const compared = ratioOf(of(reference), of(name), ({ seconds }) => seconds);
    return [{ ...row, picker: named(pickers, name), jobs: settings.jobs, ratio: compared }];
  });
}

const figure = figureOf<PriorityFigures>();
const inSeconds = (value: number): string => `${value.toFixed(1)} s`;
const perThousand = (cpuSeconds: number | null, { jobs }: PriorityRow): number | null =>
  cpuSeconds === null ? null : (cpuSeconds * 1000) / jobs;

const columns: Column<PriorityRow>[] = [
  { head: "system", cell: ({ picker }) => picker.name },
  { head: "all jobs in", cell: figure(({ seconds }) => seconds, inSeconds) },
  {
    head: "published",
    cell: ({ picker }) => (picker.publishedSeconds === undefined ? "" : inSeconds(picker.publishedSeconds)),
  },
  { head: "jobs/s", cell: figure(({ seconds }, { jobs }: PriorityRow) => jobs / seconds, whole) },
  { head: `${reference} / this`, cell: (row) => (row.picker.name === reference ? "" : spread(row.ratio, ratio)) },
  { head: "server CPU / 1,000", cell: figure((of, row: PriorityRow) => perThousand(of.serverCpuSeconds, row), cpuMs) },
  { head: "worker CPU / 1,000", cell: figure((of, row: PriorityRow) => perThousand(of.clientCpuSeconds, row), cpuMs) },
  { head: "out of order", cell: figure(({ outOfOrder: count }) => count, whole) },
];

function priorityReport(results: PriorityResults): ScenarioReport {
  const rows = priorityRows(results);
  const { jobs, workers, repeat, synchronousCommit } = results.settings;
  return {
    caveats: caveatsOf(
      results,
      "few jobs, and once.",
      "The workers share the cores with the server: compare ratios, not seconds.",
    ),
    table: reportRows("How long all jobs take", columns, rows, 1),
    more: [
      '*Published*: what depesz measured in "What is SKIP LOCKED for in PostgreSQL 9.5" (2016) for 10,000 jobs and eight workers, on a machine of his and with a program of his: it says how one way compares with the other there, and no more. *pgque* receives one message at a time here, and receives of one consumer wait for one another; *pgque-batch* is how it is meant to be used. *Out of order*: jobs that were begun while more of a higher priority were left than the other workers could have had in hand.',
    ],
    systems: rows.map(({ picker }) => described(picker)),
    settings: [
      `${jobs} jobs of priority 0 to 9, all there at the start, then VACUUM, ANALYZE and a checkpoint; ${workers} workers, each picks the job with the highest priority, computes the MD5 of its payload and finishes it, until none is left`,
      `each trial in a fresh database, systems in turn, ${repeat} repeat(s); who comes first changes from repeat to repeat`,
      "a trial counts only when every job was done once",
      `synchronous_commit ${synchronousCommit}, unless a system's line says otherwise`,
    ],
  };
}
