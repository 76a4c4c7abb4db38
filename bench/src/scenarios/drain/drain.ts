import type { Described } from "../../adapters/adapter.ts";
import { drainSystems, named } from "../../adapters/registry.ts";
import { pointerBytes } from "../../measure/statistics.ts";
import {
  integer,
  integerOption,
  integersOption,
  namesOption,
  optionalInteger,
  repeatOption,
  settingsOf,
  switchOption,
  type OptionsOf,
  type SettingsOf,
} from "../../runner/options.ts";
import { cpuMs, bytes, ratio, spread, whole } from "../../report/format.ts";
import {
  noise,
  publishedSection,
  type Published,
  caveatsOf,
  figureOf,
  medians,
  reporting,
  type ScenarioReport,
} from "../../report/scenario-report.ts";
import { described, headed } from "../../report/document.ts";
import type { Spread } from "../../report/results.ts";
import { reportRows, type Column } from "../../report/table.ts";
import {
  emptyResults,
  keepTrial,
  measuredTrial,
  messagesPerCpuSecond,
  ratioOf,
  rowOf,
  someFailed,
  type Trial,
  type TrialResults,
  type FiguresRow,
  outcomeText,
  repeatText,
  rotate,
} from "../../runner/trials.ts";
import { runScenario, type Run, type RunHooks } from "../../runner/run.ts";
import type { Scenario } from "../../runner/scenario.ts";
import { outcomeLine, outcomeOf, targetColumns, type TargetOutcome } from "../../runner/target.ts";
import { measureDrain, type DrainFigures, type DrainLoad, type DrainPlan } from "./measure.ts";

export const drainSystemNames = drainSystems.map(({ name }) => name);

export const drainOptions = {
  messages: integerOption(["messages <n>", "in each trial"], [1, 1_000_000_000], 1_000_000, 50_000),
  processes: integersOption(["processes <numbers>", "of workers"], [1, 64], [1, 4]),
  systems: namesOption(["systems <names>", ""], drainSystemNames),
  repeat: repeatOption(3, 1),
  memory: switchOption(["memory", "sample the memory of a worker process, and say whether it grows"]),
  ahead: optionalInteger([
    "ahead <messages>",
    "sent before the start, the rest while it runs (default: all; --memory: 500000)",
  ]),
};

/** What a user of the scenario `drain` may choose. */
export type DrainOptions = OptionsOf<typeof drainOptions>;

type DrainSettings = SettingsOf<typeof drainOptions> & DrainLoad & { autovacuumNaptimeSeconds: number };

/** With all of them the disk would be filled by a run that lasts. */
const aheadWithMemory = 500_000;

/** Throws a BenchOptionError for the first option that cannot be used. */
export function resolveDrainSettings(given: DrainOptions): DrainSettings {
  const settings = settingsOf(drainOptions, given);
  const { messages, memory } = settings;
  const ahead = integer(
    "ahead",
    settings.ahead ?? Math.min(messages, memory ? aheadWithMemory : messages),
    1,
    messages,
  );
  return { ...settings, ahead, synchronousCommit: "on", autovacuumNaptimeSeconds: 10 };
}

export type DrainTrial = Trial<DrainPlan, DrainFigures>;
export type DrainResults = TrialResults<DrainSettings, DrainTrial>;

/** Of sending and draining together, before anything is known: a guess that the first trials correct. */
const messagesPerSecond = 10_000;
const overheadSeconds = 4;

export const drain: Scenario<DrainOptions, DrainSettings, DrainPlan, DrainTrial, DrainResults> = {
  name: "drain",
  resolve: resolveDrainSettings,
  results: emptyResults,
  plan: drainPlan,
  measure: (plan, context) => measuredTrial(plan, context, () => measureDrain(plan, context)),
  keep: keepTrial,
  ...reporting(drainReport),
  failed: someFailed,
  headline: ({ settings }) =>
    `${settings.systems.join(", ")}; ${whole(settings.messages)} messages a trial, ${settings.repeat} repeat(s)`,
  stepSeconds: ({ messages }) => messages / messagesPerSecond + overheadSeconds,
  stepText: ({ system, processes, repeat }) => `${system}, ${processesText(processes)}${repeatText(repeat)}`,
  measuredText: (trial) => outcomeText(trial, (figures) => `${whole(figures.messagesPerSecond)}/s`),
};

/** Has every system drain a queue with so many worker processes, as often as asked. See runScenario. */
export function runDrain(given: DrainOptions, hooks: RunHooks = {}): Promise<Run<DrainResults>> {
  return runScenario(drain, given, hooks);
}

/** The systems in turn with each number of processes within each repeat: a machine that gets slower gets slower for all. */
export function drainPlan(settings: DrainSettings): DrainPlan[] {
  return Array.from({ length: settings.repeat }, (_, n) =>
    settings.processes.flatMap((processes) =>
      rotate(systemsOf(settings), n).map((system) => ({ system, processes, repeat: n + 1 })),
    ),
  ).flat();
}

/** In the order of the tables. */
function systemsOf({ systems }: Pick<DrainSettings, "systems">): string[] {
  return drainSystemNames.filter((name) => systems.includes(name));
}

const processesText = (count: number): string => `${count} process${count === 1 ? "" : "es"}`;

/** All repeats of one system with so many processes. */
interface DrainRow extends FiguresRow<DrainFigures> {
  system: Described;
  processes: number;
  /** Within each repeat: the rate of pgque over this one's. */
  ratio: Spread | null;
  /** How much less CPU, server and workers together, pgque uses for a message than this one; within each repeat. */
  cpuRatio: Spread | null;
}

/** The others are compared with it. */
const reference = "pgque";

/** In the order of the tables. */
export function drainRows({ trials, settings }: DrainResults): DrainRow[] {
  const of = (system: string, processes: number): DrainTrial[] =>
    trials.filter((trial) => trial.system === system && trial.processes === processes);
  return settings.processes.flatMap((processes) =>
    systemsOf(settings).flatMap((name): DrainRow[] => {
      const [pgque, own] = [of(reference, processes), of(name, processes)];
      const row = rowOf(own);
      if (row === null) return [];
      const rate = ratioOf(pgque, own, (figures) => figures.messagesPerSecond);
      const cpuRatio = ratioOf(pgque, own, messagesPerCpuSecond);
      return [{ ...row, system: named(drainSystems, name), processes, ratio: rate, cpuRatio }];
    }),
  );
}

/** One for each row with a target. */
export function drainOutcomes(rows: DrainRow[]): TargetOutcome[] {
  return rows.flatMap((row) => {
    const { target, name } = row.system;
    if (target === undefined) return [];
    const what = `${processesText(row.processes)}, ${reference} / ${name}`;
    const pgque = rows.find((one) => one.system.name === reference && one.processes === row.processes);
    const errors = [...row.errors, ...(pgque?.errors ?? [])];
    return [outcomeOf(what, target, ratio, { ...row, errors, measured: row.ratio })];
  });
}

/** One sentence for each worker whose memory was sampled. */
function growthLines({ system, processes, measured }: DrainRow): string[] {
  return measured.flatMap(({ growth }) => {
    if (growth === null) return [];
    const [heap, rss] = [growth.heapBytesPerMessage, growth.rssBytesPerMessage].map((slope) =>
      spread(slope, (value) => `${value.toFixed(2)} B`),
    );
    return [
      `${processesText(processes)}, ${system.name}: memory ${growth.verdict}: a message adds ${heap} to the heap, ${rss} to RSS`,
    ];
  });
}

/** Jobs a second of 200,000, by four processes of 24 each. */
const published: Record<string, number> = { "graphile-worker": 183_895, "graphile-worker-default": 15_606 };

/** Beside the same number of processes, where they were run. */
export function drainPublished(rows: DrainRow[]): Published {
  return {
    source:
      "*Published*: graphile-worker's documentation on performance, of 200,000 jobs and four processes of 24 jobs at a time, on a machine of theirs. " +
      "*Here*: this run, where workers and servers share the cores.",
    heads: ["system", "processes", "messages/s, published", "here"],
    textColumns: 2,
    rows: rows.flatMap((row) => {
      const theirs = published[row.system.name];
      if (theirs === undefined || row.processes !== 4 || row.measured.length === 0) return [];
      return [[row.system.name, String(row.processes), whole(theirs), rateText(row)]];
    }),
  };
}

const figure = figureOf<DrainFigures>();
const rateText = figure((figures) => figures.messagesPerSecond, whole);

/** The row of what the others are compared with says nothing. */
const compared =
  (pick: (row: DrainRow) => Spread | null) =>
  (row: DrainRow): string =>
    row.system.name === reference ? "" : spread(pick(row), ratio);

const identity: Column<DrainRow>[] = [
  { head: "system", cell: ({ system }) => system.name },
  { head: "processes", cell: ({ processes }) => whole(processes) },
];

/** The answer: the rate, the ratio, and who paid for it. */
const mainColumns: Column<DrainRow>[] = [
  ...identity,
  { head: "messages/s", cell: rateText },
  { head: `${reference} / this`, cell: compared((row) => row.ratio) },
  ...targetColumns<DrainRow>(({ system }) => system.target),
  { head: `CPU, this / ${reference}`, cell: compared((row) => row.cpuRatio) },
  { head: "server CPU / 1,000", cell: figure((figures) => figures.serverCpuSecondsPerThousand, cpuMs) },
  { head: "worker CPU / 1,000", cell: figure((figures) => figures.clientCpuSecondsPerThousand, cpuMs) },
];

/** What else was measured; in the reports only. */
const moreColumns: Column<DrainRow>[] = [
  ...identity,
  {
    head: "seconds",
    cell: figure(
      ({ seconds }) => seconds,
      (value) => value.toFixed(1),
    ),
  },
  { head: "RSS, most", cell: figure(({ rssBytesMax }) => rssBytesMax, bytes) },
  {
    head: "WAL/message",
    cell: figure(
      ({ walBytesPerMessage }) => walBytesPerMessage,
      (value) => `${whole(value)} B`,
    ),
  },
  {
    head: "others' CPU",
    cell: figure(
      ({ otherCpuSeconds }) => otherCpuSeconds,
      (value) => `${value.toFixed(1)} s`,
    ),
  },
];

function drainReport(results: DrainResults): ScenarioReport {
  const rows = drainRows(results);
  const { settings, trials, machine } = results;
  const { messages, ahead } = settings;
  const measured = trials.flatMap(({ system, processes, figures }) =>
    figures === null ? [] : [{ name: `${system}, ${processesText(processes)}`, ...figures }],
  );
  const before =
    ahead < messages
      ? `${whole(ahead)} of them before the start, the rest so that about as many are always ahead`
      : "all sent before the start";
  return {
    caveats: [
      ...caveatsOf(
        results,
        "few messages, and once.",
        "The workers share the cores with the servers: compare ratios, not rates.",
      ),
      ...noise(measured, machine.cores),
    ],
    verdicts: [...drainOutcomes(rows).map(outcomeLine), ...rows.flatMap(growthLines)],
    intro: medians(results).replace(/\.$/, "; targets are compared with its median."),
    table: reportRows("How fast each system drains", mainColumns, rows, identity.length),
    more: [
      ...headed(reportRows("More of the same", moreColumns, rows, identity.length)),
      "*Server CPU*: of all of PostgreSQL's processes, or of Redis, for a thousand messages. *Worker CPU*: of all worker processes. Their sum is compared in the column of ratios of CPU, which depends less on what else the machine does. *RSS, most*: of the worker process that had most. *Others' CPU*: of whatever else ran on the machine during a trial.",
      ...publishedSection(drainPublished(rows)),
    ],
    systems: [...new Set(rows.map(({ system }) => system))].map(described),
    settings: [
      `${whole(messages)} messages of a number each, ${before}; then VACUUM, ANALYZE and a checkpoint of PostgreSQL`,
      `each trial in a database, or a Redis, of its own; systems in turn with each number of processes, ${settings.repeat} repeat(s); who comes first changes from repeat to repeat`,
      "every worker is a Node.js process of its own, with one handler that notes the number and returns",
      "time runs from the start signal, when every process has loaded its modules and opened its connections, until the last message is settled: all are handled, and the server has nothing left that is waiting or under way",
      "a trial counts only when every number was handled once, by what the processes noted",
      ...(settings.memory
        ? [
            `memory: of the first process, each second, after its garbage was collected, the first fifth left out. The slope is the median of those between every two samples (Theil–Sen), in brackets its range with a probability of 95 %. Flat: that range is below ${pointerBytes} bytes a message, for heap and RSS: a pointer is the least that is kept of anything`,
          ]
        : []),
      `synchronous_commit ${settings.synchronousCommit}: what is settled is on the disk. (Pgque's receive does not wait for it: one that is lost is made again.)`,
    ],
  };
}
