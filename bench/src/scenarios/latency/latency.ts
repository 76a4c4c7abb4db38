import type { Described } from "../../adapters/adapter.ts";
import { latencySystems, named } from "../../adapters/registry.ts";
import type { LatencySummary } from "../../measure/histogram.ts";
import { Child } from "../../runner/child.ts";
import { described } from "../../report/document.ts";
import { ms, ratio, spread, whole } from "../../report/format.ts";
import {
  publishedSection,
  type Published,
  caveatsOf,
  medians,
  reporting,
  type ScenarioReport,
} from "../../report/scenario-report.ts";
import type { Spread } from "../../report/results.ts";
import { reportRows, type Column } from "../../report/table.ts";
import { spreadOf } from "../../measure/statistics.ts";
import {
  emptyResults,
  ratioOf,
  rowOf,
  someFailed,
  type Trial,
  type TrialResults,
  type FiguresRow,
  type SystemPlan,
  outcomeText,
  repeatText,
  rotate,
} from "../../runner/trials.ts";
import { inTurn } from "../../runner/in-turn.ts";
import {
  integerOption,
  integersOption,
  namesOption,
  onOrOffOption,
  repeatOption,
  settingsOf,
  type OptionsOf,
  type SettingsOf,
} from "../../runner/options.ts";
import { runScenario, type Run, type RunHooks } from "../../runner/run.ts";
import type { Scenario } from "../../runner/scenario.ts";
import { atMost, type Target, outcomeLine, outcomeOf, type TargetOutcome } from "../../runner/target.ts";
import type { Server } from "../../runner/server.ts";
import type { LatencyFigures, LatencyMethods } from "./process.ts";

export const latencySystemNames = latencySystems.map(({ name }) => name);

export const latencyOptions = {
  durationSeconds: integerOption(["duration <seconds>", "how long each trial is measured"], [1, 3600], 30, 4),
  rates: integersOption(["rates <numbers>", "of messages a second"], [1, 100_000], [1, 100, 1000]),
  systems: namesOption(["systems <names>", ""], latencySystemNames),
  /** With 5 at 1000 messages a second half of the ten are busy. */
  handlerMs: integerOption(
    ["handler-ms <ms>", "how long a handler, one of ten, goes on after it has its message"],
    [0, 60_000],
    0,
  ),
  synchronousCommit: onOrOffOption(["synchronous-commit <setting>", "on or off"], "on"),
  repeat: repeatOption(5, 1),
};

/** What a user of the scenario `latency` may choose. */
export type LatencyOptions = OptionsOf<typeof latencyOptions>;

type LatencySettings = SettingsOf<typeof latencyOptions> & {
  /** Systems take turns of about so long. */
  roundSeconds: number;
  /** Before the first of them, and not counted. */
  warmupMessages: number;
  autovacuumNaptimeSeconds: number;
};

/** Throws a BenchOptionError for the first option that cannot be used. */
export function resolveLatencySettings(given: LatencyOptions): LatencySettings {
  const settings = settingsOf(latencyOptions, given);
  return { ...settings, roundSeconds: settings.quick ? 2 : 5, warmupMessages: 50, autovacuumNaptimeSeconds: 10 };
}

/** One system at one rate, before it is measured. */
interface LatencyPlan extends SystemPlan {
  messagesPerSecond: number;
}

export type LatencyTrial = Trial<LatencyPlan, LatencyFigures>;
export type LatencyResults = TrialResults<LatencySettings, LatencyTrial>;

/** A database, a process, and the messages that warm up. */
const overheadSeconds = 3;

/** The trials of one rate are a step: they are measured together. */
const latency: Scenario<LatencyOptions, LatencySettings, LatencyPlan[], LatencyTrial[], LatencyResults> = {
  name: "latency",
  resolve: resolveLatencySettings,
  results: emptyResults,
  plan: latencyPlan,
  measure: (trials, { server, settings, signal }) => measureLatencies(server, trials, settings, signal),
  keep: ({ trials }, measured) => void trials.push(...measured),
  ...reporting(latencyReport),
  failed: someFailed,
  headline: ({ settings }) =>
    `${settings.systems.join(", ")}; ${settings.seconds} s a trial, ${settings.repeat} repeat(s)`,
  stepSeconds: ({ systems, seconds }) => systems.length * (seconds + overheadSeconds),
  stepText: ([trial]) =>
    trial === undefined ? "" : `${whole(trial.messagesPerSecond)} messages/s${repeatText(trial.repeat)}`,
  measuredText: (trials) => `p50 ${trials.map((trial) => `${trial.system} ${outcomeText(trial, p50)}`).join(", ")}`,
};

const p50 = ({ latencyMs }: NonNullable<LatencyTrial["figures"]>): string =>
  latencyMs === null ? "nothing arrived" : ms(latencyMs.p50);

/**
 * Measures how long messages take from when they were due to be sent to their handlers, for every system at every rate, as often as asked.
 * See runScenario.
 */
export function runLatency(given: LatencyOptions, hooks: RunHooks = {}): Promise<Run<LatencyResults>> {
  return runScenario(latency, given, hooks);
}

/** The trials of one rate within one repeat are measured together; who comes first changes from repeat to repeat. */
export function latencyPlan(settings: LatencySettings): LatencyPlan[][] {
  return Array.from({ length: settings.repeat }, (_, index) => index + 1).flatMap((repeat) =>
    settings.rates.map((messagesPerSecond) =>
      rotate(systemsOf(settings), repeat - 1).map((system) => ({ system, messagesPerSecond, repeat })),
    ),
  );
}

/** In the order of the tables. */
function systemsOf({ systems }: Pick<LatencySettings, "systems">): string[] {
  return latencySystems.map(({ name }) => name).filter((name) => systems.includes(name));
}

/** To warm up: faster than the slowest rates, slower than what any system can do. */
const warmupPerSecond = 50;

interface Work {
  child: Child<LatencyMethods>;
  messagesPerSecond: number;
}

/** Measures the systems at one rate, in rounds in turn: while one has its round the others are idle. Throws when it is stopped. */
async function measureLatencies(
  server: Server,
  plans: LatencyPlan[],
  settings: LatencySettings,
  signal: AbortSignal,
): Promise<LatencyTrial[]> {
  const { seconds, roundSeconds, warmupMessages, handlerMs } = settings;
  const rounds = Math.max(1, Math.round(seconds / roundSeconds));
  const trials = await inTurn<LatencyPlan, Work, LatencyFigures>(
    plans,
    {
      open: (plan) => open(server, plan, settings),
      opened: () => server.checkpoint(),
      warmUp: ({ child }) =>
        child.call("round", {
          counts: false,
          messagesPerSecond: warmupPerSecond,
          messages: warmupMessages,
          handlerMs: 0,
        }),
      rounds,
      round: ({ child, messagesPerSecond }) => {
        const messages = Math.max(1, Math.round((messagesPerSecond * seconds) / rounds));
        return child.call("round", { counts: true, messagesPerSecond, messages, handlerMs });
      },
      figures: ({ child }) => child.call("finish"),
    },
    signal,
  );
  return trials.map((trial) => ({ ...trial, postgres: server.version }));
}

async function open(
  server: Server,
  { system, messagesPerSecond }: LatencyPlan,
  settings: LatencySettings,
): Promise<{ work: Work; close(): Promise<void> }> {
  const store = await named(latencySystems, system).makeStore({ ...settings, server });
  const child = new Child<LatencyMethods>(new URL("./process.js", import.meta.url));
  const close = async (): Promise<void> => {
    await child.stop();
    await store.close();
  };
  try {
    await child.call("open", { system, url: store.url });
  } catch (error) {
    await close();
    throw error;
  }
  return { work: { child, messagesPerSecond }, close };
}

/** All repeats of one system at one rate. */
export interface LatencyRow extends FiguresRow<LatencyFigures> {
  system: Described;
  messagesPerSecond: number;
  /** Within each repeat: the p50 of pgque over this one's. */
  ratio: Spread | null;
}

/** What is measured against targets, and what the others are compared with. */
const reference = "pgque";

/** What has to be reached, and whose p50 it is compared with. */
const targets: { what: string; target: Target; of: (summary: LatencySummary) => number }[] = [
  { what: "p50", target: atMost(1, ms), of: ({ p50 }) => p50 },
  { what: "p99", target: atMost(5, ms), of: ({ p99 }) => p99 },
];
const against = { system: "graphile-worker", target: atMost(0.5, ratio) };

/** In the order of the tables. */
export function latencyRows({ trials, settings }: LatencyResults): LatencyRow[] {
  const of = (system: string, rate: number): LatencyTrial[] =>
    trials.filter((trial) => trial.system === system && trial.messagesPerSecond === rate);
  return settings.rates.flatMap((messagesPerSecond) =>
    systemsOf(settings).flatMap((name): LatencyRow[] => {
      const own = of(name, messagesPerSecond);
      const row = rowOf(own);
      if (row === null) return [];
      const compared = ratioOf(of(reference, messagesPerSecond), own, ({ latencyMs }) => latencyMs?.p50);
      return [{ ...row, system: named(latencySystems, name), messagesPerSecond, ratio: compared }];
    }),
  );
}

export function latencyOutcomes(rows: LatencyRow[]): TargetOutcome[] {
  return rows.flatMap((row) => {
    const name = `${whole(row.messagesPerSecond)}/s`;
    if (row.system.name === reference) {
      return targets.map(({ what, target, of }) => {
        const measured = spreadOf(row.measured.map(({ latencyMs }) => latencyMs && of(latencyMs)));
        return outcomeOf(`${name}, ${what}`, target, ms, { ...row, measured });
      });
    }
    if (row.system.name !== against.system) return [];
    const what = `${name}, p50, ${reference} / ${against.system}`;
    const pgque = rows.find((one) => one.system.name === reference && one.messagesPerSecond === row.messagesPerSecond);
    const errors = [...row.errors, ...(pgque?.errors ?? [])];
    return [outcomeOf(what, against.target, ratio, { ...row, errors, measured: row.ratio })];
  });
}

const at =
  (pick: (summary: LatencySummary) => number) =>
  ({ measured }: LatencyRow): string =>
    spread(spreadOf(measured.map(({ latencyMs }) => latencyMs && pick(latencyMs))), ms);

const columns: Column<LatencyRow>[] = [
  { head: "system", cell: ({ system }) => system.name },
  { head: "messages/s", cell: ({ messagesPerSecond }) => whole(messagesPerSecond) },
  { head: "p50", cell: at(({ p50 }) => p50) },
  { head: "p95", cell: at(({ p95 }) => p95) },
  { head: "p99", cell: at(({ p99 }) => p99) },
  { head: "p99.9", cell: at(({ p999 }) => p999) },
  { head: "max", cell: at(({ max }) => max) },
  { head: "p50, pgque / this", cell: (row) => (row.system.name === reference ? "" : spread(row.ratio, ratio)) },
  {
    head: "sent late, p50",
    cell: ({ measured }) => spread(spreadOf(measured.map(({ latenessMs }) => latenessMs?.p50)), ms),
  },
];

const graphileMeanMs = 4.3;
const pgQueMedianMs = { best: 52, stock: 1500 };

/** Another product than this one, which has a ticker to wait for. */
const skipped = "skipped";

/** Beside the means and medians at the lowest rate of this run, which leaves a worker idle. */
export function latencyPublished(rows: LatencyRow[]): Published {
  const lowest = Math.min(...rows.map(({ messagesPerSecond }) => messagesPerSecond));
  const here = (system: string, pick: "mean" | "p50"): string | null => {
    const row = rows.find((one) => one.system.name === system && one.messagesPerSecond === lowest);
    const measured = spreadOf((row?.measured ?? []).map(({ latencyMs }) => latencyMs?.[pick]));
    return measured === null ? null : spread(measured, ms);
  };
  const line = (published: string, figure: string, at: "mean" | "p50", system: string): string[][] => {
    const measured = here(system, at);
    return measured === null ? [] : [[published, figure, `${measured} (${system}, ${whole(lowest)}/s)`]];
  };
  return {
    source:
      "*Published*: the mean of graphile-worker's own benchmark, and the medians that PgQue gives for itself at its best settings and at those it comes with; each on a machine of theirs and with a program of theirs. " +
      "They say of what order a latency is, no more.",
    heads: ["", "published", "here"],
    textColumns: 1,
    rows: [
      ...line("graphile-worker, mean", ms(graphileMeanMs), "mean", "graphile-worker"),
      ["PgQue at its best settings, median", ms(pgQueMedianMs.best), skipped],
      ["PgQue as it comes, median", ms(pgQueMedianMs.stock), skipped],
    ],
  };
}

function latencyReport(results: LatencyResults): ScenarioReport {
  const rows = latencyRows(results);
  const { settings } = results;
  const handler =
    settings.handlerMs === 0
      ? "a handler notes the time and returns"
      : `a handler notes the time and returns ${settings.handlerMs} ms later`;
  return {
    caveats: caveatsOf(
      results,
      "short, and once.",
      "Senders, workers and servers share the cores: compare with the rows without a queue, select, notify and insert-notify, which say what waking a process and waiting for the disk take on this machine.",
    ),
    verdicts: latencyOutcomes(rows).map(outcomeLine),
    intro: medians(results).replace(/\.$/, "; targets are compared with medians."),
    table: reportRows("How long a message takes", columns, rows, 2),
    more: [
      "*Sent late*: how long after a message was due the sender's own thread began to send it, which is a part of its latency.",
      ...publishedSection(latencyPublished(rows)),
    ],
    systems: [...new Set(rows.map(({ system }) => system))].map(described),
    settings: [
      "open loop: each message has a time at which it is due, fixed in advance, and its latency runs from then until its handler is called, so that a stall shows in all that were due meanwhile; HDR histograms in microseconds",
      `sender and worker are in one process, on one clock; a thread of its own says when a message is due; ${handler}`,
      `${settings.seconds} s a trial, in rounds of about ${settings.roundSeconds} s: at each rate the systems in turn, while one has its round the others are idle; each in a process and a database, or a Redis, of its own; ${settings.repeat} repeat(s), and who comes first changes from repeat to repeat`,
      `${settings.warmupMessages} messages before the first round do not count; every message has to arrive once, or the trial is an error`,
      `synchronous_commit ${settings.synchronousCommit} on every connection`,
    ],
  };
}
