import { setTimeout as sleep } from "node:timers/promises";
import { named, ratesSystems } from "../../adapters/registry.ts";
import { closing } from "../../runner/failure.ts";
import { Latencies, type LatencySummary } from "../../measure/histogram.ts";
import { quotient } from "../../measure/statistics.ts";
import {
  BenchOptionError,
  names,
  integerOption,
  integersOption,
  namesOption,
  onOrOffOption,
  repeatOption,
  settingsOf,
  type Declared,
  type OptionsOf,
  type SettingsOf,
} from "../../runner/options.ts";
import { Child } from "../../runner/child.ts";
import { described } from "../../report/document.ts";
import { micros, ms, ratio, spread, whole } from "../../report/format.ts";
import type { Spread } from "../../report/results.ts";
import { reportRows, type Column } from "../../report/table.ts";
import { caveatsOf, figureOf, reporting, type ScenarioReport } from "../../report/scenario-report.ts";
import {
  emptyResults,
  keepTrial,
  measuredTrial,
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
import { runScenario, type Run, type RunHooks } from "../../runner/run.ts";
import type { Scenario, StepContext } from "../../runner/scenario.ts";
import type { RatesMethods } from "./process.ts";

const ratesSystemNames = ratesSystems.map(({ name }) => name);

/** Messages a second, or one of these words. */
const rateWords = new Set(["idle", "saturated"]);
const ratesMax = 100_000;

function ratesPreset(quick: boolean): string[] {
  return quick ? ["idle", "100", "saturated"] : ["idle", "1", "10", "100", "800", "saturated"];
}

const ratesOption: Declared<string[]> = {
  flag: {
    flag: "--rates <list>",
    help: `messages a second, idle, or saturated (default: ${ratesPreset(false).join(",")}; quick: ${ratesPreset(true).join(",")})`,
    value: "names",
  },
  preset: ratesPreset,
  check(rates) {
    const bad = rates.find((rate) => !rateWords.has(rate) && !(/^[1-9]\d*$/.test(rate) && Number(rate) <= ratesMax));
    if (bad === undefined && rates.length > 0) return names("rates", rates, rates);
    throw new BenchOptionError("rates", `integers from 1 to ${ratesMax}, idle or saturated`, bad ?? "nothing");
  },
};

export const ratesOptions = {
  durationSeconds: integerOption(["duration <seconds>", "how long messages are sent in each trial"], [1, 3600], 10, 2),
  rates: ratesOption,
  workers: integersOption(["workers <numbers>", "of one process"], [1, 1000], [1, 10, 100], [1, 10]),
  systems: namesOption(["systems <names>", ""], ratesSystemNames),
  /** Of senders, and of workers but for what their system says. */
  synchronousCommit: onOrOffOption(["synchronous-commit <setting>", "on or off"], "on"),
  repeat: repeatOption(3, 1),
};

/** What a user of the scenario `rates` may choose. */
export type RatesOptions = OptionsOf<typeof ratesOptions>;

type RatesSettings = SettingsOf<typeof ratesOptions> & {
  /** Of a saturated trial. */
  senders: number;
  /** Before each trial, and not counted. */
  warmupMessages: number;
  autovacuumNaptimeSeconds: number;
};

/** Throws a BenchOptionError for the first option that cannot be used. */
export function resolveRatesSettings(given: RatesOptions): RatesSettings {
  const settings = settingsOf(ratesOptions, given);
  return { ...settings, senders: 4, warmupMessages: 50, autovacuumNaptimeSeconds: 10 };
}

/** One system with so many workers at one rate, before it is measured. */
interface RatesPlan extends SystemPlan {
  workers: number;
  rate: string;
}

/** What was measured from the first send until the last handler began. Null: could not be, or there was none. */
export interface RatesFigures {
  seconds: number;
  messages: number;
  /** Of all of PostgreSQL's processes, what sending costs included. */
  serverCpuSeconds: number | null;
  /** Of the process of the workers. */
  workerCpuSeconds: number;
  /** From when the sender's commit was answered until the handler began; nothing when it began before. */
  latencyMs: LatencySummary | null;
  receives: number | null;
}

export type RatesTrial = Trial<RatesPlan, RatesFigures>;
export type RatesResults = TrialResults<RatesSettings, RatesTrial>;

/** A database, two processes, and the messages that warm up. */
const overheadSeconds = 4;

const rates: Scenario<RatesOptions, RatesSettings, RatesPlan, RatesTrial, RatesResults> = {
  name: "rates",
  resolve: resolveRatesSettings,
  results: emptyResults,
  plan: ratesPlan,
  measure: (plan, context) => measuredTrial(plan, context, () => measureRate(plan, context)),
  keep: keepTrial,
  ...reporting(ratesReport),
  failed: someFailed,
  headline: ({ settings }) =>
    `${settings.systems.join(", ")}; ${settings.seconds} s a trial, ${settings.repeat} repeat(s)`,
  stepSeconds: ({ seconds }) => seconds + overheadSeconds,
  stepText: ({ system, workers, rate, repeat }) =>
    `${system}, ${workers} worker(s), ${rateText(rate)}${repeatText(repeat)}`,
  measuredText: (trial) =>
    outcomeText(trial, ({ latencyMs, ...of }) => `p50 ${latencyMs === null ? "–" : ms(latencyMs.p50)}, ${cores(of)}`),
};

const rateText = (rate: string): string => (rateWords.has(rate) ? rate : `${rate}/s`);
const cores = ({ serverCpuSeconds, seconds }: Pick<RatesFigures, "serverCpuSeconds" | "seconds">): string =>
  serverCpuSeconds === null ? "server not seen" : `server ${percent(serverCpuSeconds / seconds)} of a core`;
const percent = (value: number): string => `${(value * 100).toFixed(value < 0.1 ? 2 : 1)} %`;

/** Measures what workers cost at rates from nothing to all that can be sent, as often as asked. See runScenario. */
export function runRates(given: RatesOptions, hooks: RunHooks = {}): Promise<Run<RatesResults>> {
  return runScenario(rates, given, hooks);
}

/** The systems in turn at each rate; who comes first changes from repeat to repeat. */
export function ratesPlan({ repeat, workers, rates: all, systems }: RatesSettings): RatesPlan[] {
  return Array.from({ length: repeat }, (_, n) =>
    workers.flatMap((count) =>
      all.flatMap((rate) => rotate(systems, n).map((system) => ({ system, workers: count, rate, repeat: n + 1 }))),
    ),
  ).flat();
}

/** To warm up: slower than what any system can do. */
const warmupPerSecond = 50;

/** Throws when a message was not handled, or twice. */
async function measureRate(
  { system, workers, rate }: RatesPlan,
  { server, settings, signal, note }: StepContext<RatesSettings>,
): Promise<RatesFigures> {
  const { seconds, senders, warmupMessages } = settings;
  const store = await named(ratesSystems, system).makeStore({ ...settings, server });
  const module = new URL("./process.js", import.meta.url);
  const [sending, working] = [new Child<RatesMethods>(module), new Child<RatesMethods>(module)];
  try {
    note("set-up");
    await Promise.all([
      sending.call("open", { system, url: store.url, workers: 1 }),
      working.call("open", { system, url: store.url, workers }),
    ]);
    await working.call("start");
    await sending.call("pace", { messagesPerSecond: warmupPerSecond, messages: warmupMessages });
    await working.call("handled", warmupMessages);
    await server.checkpoint();
    signal.throwIfAborted();
    note(rateText(rate));
    const serverBefore = await store.cpu?.seconds();
    const before = await working.call("use");
    const startMs = performance.now();
    if (rate === "idle") await sleep(seconds * 1000, undefined, { signal });
    else if (rate === "saturated") await sending.call("saturate", { seconds, senders });
    else await sending.call("pace", { messagesPerSecond: Number(rate), messages: Number(rate) * seconds });
    const committed = await sending.call("committed");
    const handled = await working.call("handled", committed.length);
    const after = await working.call("use");
    const serverAfter = await store.cpu?.seconds();
    const tookSeconds = (performance.now() - startMs) / 1000;
    await working.call("stop");
    const latencies = new Latencies();
    for (const [n, committedMs] of committed.entries())
      if (n >= warmupMessages) latencies.record((handled[n] ?? 0) - committedMs);
    return {
      seconds: tookSeconds,
      messages: committed.length - warmupMessages,
      serverCpuSeconds: serverBefore === undefined || serverAfter === undefined ? null : serverAfter - serverBefore,
      workerCpuSeconds: after.cpuSeconds - before.cpuSeconds,
      latencyMs: latencies.summary(),
      receives: after.receives === null || before.receives === null ? null : after.receives - before.receives,
    };
  } finally {
    await closing(
      () => sending.stop(),
      () => working.stop(),
      () => store.close(),
    )();
  }
}

/** All repeats of one system with so many workers at one rate. */
interface RatesRow extends FiguresRow<RatesFigures>, Omit<RatesPlan, "repeat"> {
  /** Within each repeat: the CPU seconds of pgque's server a message over this one's; while idle, a second. */
  ratio: Spread | null;
}

/** The others are compared with it. */
const reference = "pgque";

/** In the order of the settings. */
export function ratesRows({ trials, settings }: RatesResults): RatesRow[] {
  return settings.workers.flatMap((workers) =>
    settings.rates.flatMap((rate) => {
      const of = (name: string): RatesTrial[] =>
        trials.filter((trial) => trial.system === name && trial.workers === workers && trial.rate === rate);
      return settings.systems.flatMap((system): RatesRow[] => {
        const row = rowOf(of(system));
        if (row === null) return [];
        const compared = ratioOf(of(reference), of(system), (figures) =>
          quotient(figures.serverCpuSeconds, figures.messages || figures.seconds),
        );
        return [{ ...row, system, workers, rate, ratio: compared }];
      });
    }),
  );
}

const figure = figureOf<RatesFigures>();
const each = (total: number | null, { messages }: RatesFigures): number | null => quotient(total, messages || null);
const microsEach = (total: number | null, of: RatesFigures): number | null =>
  each(total === null ? null : total * 1e6, of);

const columns: Column<RatesRow>[] = [
  { head: "system", cell: ({ system }) => system },
  { head: "workers", cell: ({ workers }) => whole(workers) },
  { head: "rate", cell: ({ rate }) => rateText(rate) },
  { head: "messages/s", cell: figure(({ messages, seconds }) => messages / seconds, whole) },
  { head: "p50", cell: figure(({ latencyMs }) => latencyMs?.p50, ms) },
  { head: "p99", cell: figure(({ latencyMs }) => latencyMs?.p99, ms) },
  { head: "server CPU/message", cell: figure((of) => microsEach(of.serverCpuSeconds, of), micros) },
  {
    head: "server CPU, pgque / this",
    cell: (row) => (row.system === reference ? "" : spread(row.ratio, ratio)),
  },
  { head: "worker CPU/message", cell: figure((of) => microsEach(of.workerCpuSeconds, of), micros) },
  { head: "server, of a core", cell: figure((of) => quotient(of.serverCpuSeconds, of.seconds), percent) },
  { head: "workers, of a core", cell: figure((of) => of.workerCpuSeconds / of.seconds, percent) },
  { head: "receives/message", cell: figure((of) => each(of.receives, of), ratio) },
];

function ratesReport(results: RatesResults): ScenarioReport {
  const rows = ratesRows(results);
  const { seconds, repeat, senders, warmupMessages, synchronousCommit, systems } = results.settings;
  return {
    caveats: caveatsOf(
      results,
      "short, and once.",
      "Senders and workers share the cores with the server: compare systems, and CPU rather than time.",
    ),
    table: reportRows("What workers cost at a rate", columns, rows, 3),
    more: [
      "*p50* and *p99* are from the answer to the sender's commit until the handler begins. A handler that begins before that answer counts as a microsecond. *Server CPU* includes the sends. In a *saturated* trial the time runs until the last message is handled, and the latency is that of its backlog.",
    ],
    systems: systems.map((name) => described(named(ratesSystems, name))),
    settings: [
      `senders in one process, all workers in another; handlers note the time; ${warmupMessages} messages before a trial do not count`,
      `${seconds} s a trial: messages at times fixed in advance, or, saturated, ${senders} senders of one message after the other`,
      `each trial in a fresh database, systems in turn, ${repeat} repeat(s); who comes first changes from repeat to repeat`,
      "a trial counts only when every message was handled once",
      `synchronous_commit ${synchronousCommit}, unless a system's line says otherwise`,
    ],
  };
}
