import type pg from "pg";
import { named } from "../adapters/registry.ts";
import { receivers, type Receiver } from "../adapters/support/receivers.ts";
import { repeatableRead } from "../horizons/repeatable-read.ts";
import { backendCpu, type CpuClock } from "../measure/processes.ts";
import { described } from "../report/document.ts";
import { micros, ratio, spread, whole } from "../report/format.ts";
import { caveatsOf, figureOf, reporting, type ScenarioReport } from "../report/scenario-report.ts";
import type { Spread } from "../report/results.ts";
import { reportRows, type Column } from "../report/table.ts";
import {
  emptyResults,
  keepTrial,
  measuredTrial,
  outcomeText,
  ratioOf,
  repeatText,
  rowOf,
  someFailed,
  systemsInTurn,
  type Trial,
  type TrialResults,
  type FiguresRow,
  type SystemPlan,
} from "../runner/trials.ts";
import {
  integerOption,
  integersOption,
  namesOption,
  onOrOffOption,
  repeatOption,
  settingsOf,
  type OptionsOf,
  type SettingsOf,
} from "../runner/options.ts";
import { runScenario, type Run, type RunHooks } from "../runner/run.ts";
import type { Scenario, StepContext } from "../runner/scenario.ts";
import { openDatabase } from "../runner/server.ts";
import { atMost, outcomeOf, type Target, type TargetOutcome } from "../runner/target.ts";

const systemNames = receivers.map(({ name }) => name);

export const receiveOptions = {
  /** Messages of a batch; 0 is a poll that finds nothing. */
  sizes: integersOption(
    ["sizes <list>", "messages a batch; 0: a poll that finds nothing"],
    [0, 10_000],
    [0, 1, 3, 10, 30, 100],
  ),
  batches: integerOption(["batches <n>", "of each size, in turn"], [1, 100_000], 300, 50),
  heldMessages: integerOption(
    ["held-messages <n>", "are received while the horizon is held, before that is measured"],
    [0, 10_000_000],
    20_000,
    2000,
  ),
  systems: namesOption(["systems <names>", ""], systemNames),
  /** Off: the wait for the disk is the same for all, and not what is measured. */
  synchronousCommit: onOrOffOption(["synchronous-commit <setting>", "on or off"], "off"),
  repeat: repeatOption(5, 1),
};

/** What a user of the scenario `receive` may choose. */
export type ReceiveOptions = OptionsOf<typeof receiveOptions>;

type ReceiveSettings = SettingsOf<typeof receiveOptions> & { autovacuumNaptimeSeconds: number };

/** Throws a BenchOptionError for the first option that cannot be used. */
export function resolveReceiveSettings(given: ReceiveOptions): ReceiveSettings {
  return { ...settingsOf(receiveOptions, given), autovacuumNaptimeSeconds: 10 };
}

/** Of one batch, on average. */
interface BatchFigures {
  messages: number;
  wallMicros: number;
  /** Of the connection's server process; null where it cannot be seen. */
  cpuMicros: number | null;
}

type Phase = "clean" | "held";

/** By size, in the order of the settings. */
export type ReceiveFigures = Record<Phase, BatchFigures[]>;
export type ReceiveTrial = Trial<SystemPlan, ReceiveFigures>;
export type ReceiveResults = TrialResults<ReceiveSettings, ReceiveTrial>;

/** Of sends, which are not measured, and of receives: a guess that the first trials correct. */
const batchSeconds = 0.003;
const overheadSeconds = 4;

const receive: Scenario<ReceiveOptions, ReceiveSettings, SystemPlan, ReceiveTrial, ReceiveResults> = {
  name: "receive",
  resolve: resolveReceiveSettings,
  results: emptyResults,
  plan: systemsInTurn,
  measure: (plan, context) => measuredTrial(plan, context, () => measureReceive(plan.system, context)),
  keep: keepTrial,
  ...reporting(receiveReport),
  failed: someFailed,
  headline: ({ settings }) =>
    `${settings.systems.join(", ")}; batches of ${settings.sizes.join(", ")}, ${settings.repeat} repeat(s)`,
  stepSeconds: ({ sizes, batches, heldMessages }) =>
    2 * sizes.length * batches * batchSeconds + (heldMessages / heldBatch) * batchSeconds + overheadSeconds,
  stepText: ({ system, repeat }) => `${system}${repeatText(repeat)}`,
  measuredText: (trial) =>
    outcomeText(trial, ({ clean, held }) =>
      [clean, held].map(([first]) => micros(first?.wallMicros ?? 0)).join(" clean, held "),
    ),
};

/** Measures what it takes to receive and finish batches of different sizes, as often as asked. See runScenario. */
export function runReceive(given: ReceiveOptions, hooks: RunHooks = {}): Promise<Run<ReceiveResults>> {
  return runScenario(receive, given, hooks);
}

/** What is received before the held phase comes in such batches. */
const heldBatch = 100;

async function measureReceive(
  system: string,
  { server, settings, signal, note }: StepContext<ReceiveSettings>,
): Promise<ReceiveFigures> {
  const receiver = named(receivers, system);
  const database = await openDatabase(server, settings.synchronousCommit);
  try {
    const admin = await database.connect("admin");
    note("set-up");
    await receiver.prepare(admin);
    const client = await database.connect("receiver");
    const cpu = await backendCpu(client);
    const site = { admin, client, cpu, receiver, next: await receiver.open(client), settings, signal };
    await measureSizes(site, Math.min(settings.batches, 50));
    await receiver.maintain?.(admin);
    note("clean");
    const clean = await measureSizes(site, settings.batches);
    note("held");
    const holder = await repeatableRead.hold({
      connect: (role) => database.connect(role),
      admin,
      url: database.url,
      heldSeconds: 0,
      systemName: system,
      sent: () => 0,
    });
    for (let left = settings.heldMessages; left > 0; left -= heldBatch) {
      signal.throwIfAborted();
      await receiver.send(admin, heldBatch);
      await received(site, heldBatch);
      if (left % 5000 < heldBatch) await receiver.maintain?.(admin);
    }
    await measureSizes(site, Math.min(settings.batches, 20));
    const held = await measureSizes(site, settings.batches);
    await holder.prove();
    await holder.release();
    return { clean, held };
  } finally {
    await database.close();
  }
}

interface Site {
  admin: pg.Client;
  receiver: Receiver;
  next: (max: number) => Promise<number>;
  cpu: CpuClock | null;
  settings: ReceiveSettings;
  signal: AbortSignal;
}

/** The sizes in turn: what changes on the machine changes for all. */
async function measureSizes(site: Site, rounds: number): Promise<BatchFigures[]> {
  const { admin, receiver, cpu, settings, signal } = site;
  const sums = settings.sizes.map((messages) => ({ messages, wallMicros: 0, cpuMicros: 0 }));
  // a batch of before is finished, where the next call does that
  await received(site, 0);
  for (let round = 0; round < rounds; round += 1) {
    signal.throwIfAborted();
    for (const sum of sums) {
      if (sum.messages > 0) await receiver.send(admin, sum.messages);
      const before = await cpu?.seconds();
      const startMs = performance.now();
      await received(site, sum.messages);
      sum.wallMicros += ((performance.now() - startMs) * 1000) / rounds;
      const after = await cpu?.seconds();
      if (before !== undefined && after !== undefined) sum.cpuMicros += ((after - before) * 1e6) / rounds;
    }
  }
  return sums.map((sum) => ({ ...sum, cpuMicros: cpu === null ? null : sum.cpuMicros }));
}

/** Throws when it was not as many as are there. */
async function received({ next }: Pick<Site, "next">, messages: number): Promise<void> {
  const count = await next(Math.max(1, messages));
  if (count !== messages) throw new Error(`expected to receive ${messages} messages, received ${count}`);
}

/** All repeats of one system and size. */
interface ReceiveRow extends FiguresRow<ReceiveFigures> {
  system: string;
  messages: number;
  index: number;
  /** Within each repeat: this one's wall time over that of skip-locked. */
  ratio: Record<Phase, Spread | null>;
}

/** The others are compared with it. */
const reference = "skip-locked";

/** In the order of the settings. */
export function receiveRows({ trials, settings }: ReceiveResults): ReceiveRow[] {
  const of = (name: string): ReceiveTrial[] => trials.filter(({ system }) => system === name);
  return settings.sizes.flatMap((messages, index) =>
    settings.systems.flatMap((system): ReceiveRow[] => {
      const row = rowOf(of(system));
      if (row === null) return [];
      const compared = (phase: Phase): Spread | null =>
        ratioOf(of(system), of(reference), (figures) => figures[phase][index]?.wallMicros);
      return [{ ...row, system, messages, index, ratio: { clean: compared("clean"), held: compared("held") } }];
    }),
  );
}

/** What the wall time of a batch is to be at most, with nothing held, of that of skip-locked. */
const targets: Record<string, Record<number, Target>> = {
  pgque: {
    0: atMost(2, ratio),
    1: atMost(1.05, ratio),
    3: atMost(0.85, ratio),
    10: atMost(0.8, ratio),
    100: atMost(0.5, ratio),
  },
  "pgque-next": { 1: atMost(0.9, ratio) },
};

/** The same of an exclusive consumer, of that of a shared one. */
const exclusiveTarget = atMost(1.2, ratio);

export function receiveOutcomes(results: ReceiveResults): TargetOutcome[] {
  const of = (name: string): ReceiveTrial[] => results.trials.filter(({ system }) => system === name);
  return receiveRows(results).flatMap((row) => {
    const what = row.messages === 0 ? "a poll that finds nothing" : `${whole(row.messages)} a batch`;
    if (row.system === "pgque-exclusive" && row.messages > 0) {
      const measured = ratioOf(of(row.system), of("pgque"), ({ clean }) => clean[row.index]?.wallMicros);
      return [outcomeOf(`${what}, exclusive / shared`, exclusiveTarget, ratio, { ...row, measured })];
    }
    const target = targets[row.system]?.[row.messages];
    if (target === undefined) return [];
    return [outcomeOf(`${what}, ${row.system} / ${reference}`, target, ratio, { ...row, measured: row.ratio.clean })];
  });
}

const figure = figureOf<ReceiveFigures>();
const time = (phase: Phase) => figure((of, { index }: ReceiveRow) => of[phase][index]?.wallMicros, micros);
const cpuOf = (phase: Phase) => figure((of, { index }: ReceiveRow) => of[phase][index]?.cpuMicros, micros);
const ratioText =
  (phase: Phase) =>
  (row: ReceiveRow): string =>
    row.system === reference ? "" : spread(row.ratio[phase], ratio);

const columns: Column<ReceiveRow>[] = [
  { head: "batch", cell: ({ messages }) => (messages === 0 ? "none" : whole(messages)) },
  { head: "system", cell: ({ system }) => system },
  { head: "clean", cell: time("clean") },
  { head: "clean, ratio", cell: ratioText("clean") },
  { head: "held", cell: time("held") },
  { head: "held, ratio", cell: ratioText("held") },
  { head: "clean, CPU", cell: cpuOf("clean") },
  { head: "held, CPU", cell: cpuOf("held") },
];

function receiveReport(results: ReceiveResults): ScenarioReport {
  const { batches, heldMessages, repeat, synchronousCommit, systems } = results.settings;
  return {
    caveats: caveatsOf(
      results,
      "few batches, and once.",
      "One connection, nothing else at work: what calls cost, and not how many a second a server does.",
    ),
    table: reportRows("How long it takes to receive and finish a batch", columns, receiveRows(results), 2),
    more: [
      `*Held*: a REPEATABLE READ transaction holds the horizon, and ${whole(heldMessages)} messages were received and finished since it began. *Ratio*: the time of this system over that of ${reference}. *CPU*: of the connection's server process.`,
    ],
    systems: systems.map((name) => described(named(receivers, name))),
    settings: [
      `SQL, prepared, on one connection; from the call to the answer, of the receive and of what finishes the batch; ${batches} batches of each size, the sizes in turn`,
      "messages are sent by another connection, and that is not measured; a batch counts only when it has all of them",
      `each trial in a fresh database, systems in turn, ${repeat} repeat(s); who comes first changes from repeat to repeat`,
      `synchronous_commit ${synchronousCommit}: off, the wait for the disk is not a part of what is compared`,
    ],
  };
}
