import { systemNamed, systemNames } from "../../adapters/registry.ts";
import { whileHeld } from "../../horizons/held.ts";
import { horizonNamed, horizonNames } from "../../horizons/registry.ts";
import { drain, openLoop, withPushed } from "../../load/load.ts";
import { payloadBytesMin } from "../../load/messages.ts";
import { DeliveryLedger } from "../../load/tally.ts";
import type { LatencySummary } from "../../measure/histogram.ts";
import { ownMemory, serverMemory } from "../../measure/processes.ts";
import { deadTuplesIn, flushStatistics } from "../../measure/relations.ts";
import type { Sample } from "../../measure/sampler.ts";
import { quotient } from "../../measure/statistics.ts";
import { bytes, clock, ms, whole } from "../../report/format.ts";
import { integerOption, namesOption, repeatOption, settingsOf, type OptionsOf } from "../../runner/options.ts";
import type { StepContext } from "../../runner/scenario.ts";
import { runPhase, type PhaseMeasurement } from "../xmin/workbench.ts";
import { invalidity, type Evidence } from "../xmin/results.ts";
import { openWorkbench, type Workbench } from "../xmin/workbench.ts";
import type { TrialPlan } from "../xmin/results.ts";
import { resolveSettings, type Settings } from "../xmin/settings.ts";
import { driftsOf, type Drift, type SoakSample } from "./drift.ts";

export const soakOptions = {
  durationSeconds: integerOption(["duration <seconds>", "of each trial"], [1, 86_400], 1800, 30),
  rate: integerOption(["rate <messages/s>", "all producers together, open loop"], [1, 1_000_000], 800),
  producers: integerOption(["producers <n>", ""], [1, 100], 4),
  consumers: integerOption(["consumers <n>", ""], [1, 100], 4),
  batch: integerOption(["batch <messages>", "the most one receive returns"], [1, 10_000], 100),
  payloadBytes: integerOption(["payload-bytes <bytes>", ""], [payloadBytesMin, 1_048_576], 75),
  systems: namesOption(["systems <names>", ""], systemNames, ["pgque"]),
  horizons: namesOption(["horizons <names>", "who holds the horizon, all the time"], horizonNames, ["none"]),
  repeat: repeatOption(1),
};

/** What a user of the scenario `soak` may choose. */
export type SoakOptions = OptionsOf<typeof soakOptions>;

export type SoakSettings = ReturnType<typeof resolveSoakSettings>;

/** Throws a BenchOptionError for the first option that cannot be used. */
export function resolveSoakSettings(given: SoakOptions) {
  const settings = settingsOf(soakOptions, given);
  const { quick, seconds } = settings;
  return {
    ...settings,
    sampleSeconds: quick ? 1 : 5,
    rotation: rotationFor(quick, seconds),
    synchronousCommit: "on" as const,
    autovacuumNaptimeSeconds: quick ? 1 : 10,
  };
}

/**
 * Size on disk is judged by whole rotations, of which there should be dozens: with the defaults, 64 MiB, and 800 messages/s that takes four hours. Null: Pgque's
 * defaults.
 */
function rotationFor(quick: boolean, seconds: number): Settings["rotation"] {
  if (quick) return { bytes: 1024 * 1024, minIntervalSeconds: 2 };
  return seconds < 4 * 3600 ? { bytes: 8 * 1024 * 1024, minIntervalSeconds: 5 } : null;
}

/** The settings of a workbench for one trial. */
function workbenchSettings(settings: SoakSettings): Settings {
  const { quick, seconds, rate, producers, consumers, batch, payloadBytes } = settings;
  const { sampleSeconds, rotation, synchronousCommit, autovacuumNaptimeSeconds } = settings;
  const load = { quick, durationSeconds: seconds, rate, sendBatch: 1, producers, consumers, batch, payloadBytes };
  return { ...resolveSettings(load), sampleSeconds, rotation, synchronousCommit, autovacuumNaptimeSeconds };
}

/** What was measured. Null: could not be. */
export interface SoakFigures {
  /** How long messages were sent. */
  seconds: number;
  sentPerSecond: number;
  finishedPerSecond: number;
  depthMax: number;
  /** From when a message was due to be sent until a consumer had it in hand, over the whole time. */
  latencyMs: LatencySummary | null;
  /** In all tables of the system, when the load has stopped and the holder still holds; null for a system that keeps nothing in PostgreSQL. */
  deadTuples: number | null;
  bytesReclaimed: number | null;
  /** Segments emptied by TRUNCATE; null for a system that has none. */
  rotations: number | null;
  /** Null where the server's processes cannot be looked at. */
  serverCpuMicrosPerMessage: number | null;
  /** By everything on the machine that is neither server nor harness. */
  otherCpuSeconds: number | null;
  /** How late the harness itself was with its sends. */
  lateMs: LatencySummary | null;
  /** Of each measure that could be sampled. */
  drifts: Drift[];
}

/** The phase that is judged. */
export const soakPhase = "soak";

/** What is under way when sending ends is given so long, and what has not come by then is lost. */
const drainSecondsMax = 60;

/**
 * One system at a steady rate with the horizon held all the time; then, with nothing more sent, until nothing is left. Samples go to `samples` as they are
 * taken, and stay there whatever happens. Throws when the figures cannot be used.
 */
export async function measureSoak(
  { system: systemName, horizon: horizonName }: TrialPlan,
  { server, settings, signal, note }: StepContext<SoakSettings>,
  samples: SoakSample[],
): Promise<SoakFigures> {
  const [system, horizon] = [systemNamed(systemName), horizonNamed(horizonName)];
  const inPostgres = system.schema !== null;
  const own = workbenchSettings(settings);
  const { rate } = settings;
  note("set-up");
  const bench = await openWorkbench(server, system, own);
  try {
    const ledger = new DeliveryLedger();
    bench.load.tally.watch = ledger;
    const keep = await keepingSamples(bench, samples);
    const phase = <T>(name: string, drive: (stop: AbortSignal) => Promise<T>): Promise<PhaseMeasurement<T>> =>
      runPhase(bench, own, { name, drive, onSample: async (sample) => note(noteOf(await keep(sample))) }, signal);
    await horizon.check?.(bench.site);
    const { soak, dead } = await whileHeld(await horizon.hold(bench.site), async (holder) => {
      await holder.prove();
      const soak = await withPushed(bench.load.consumers, () =>
        phase(soakPhase, (stop) => openLoop(rate)(bench.load, settings.seconds, stop)),
      );
      await holder.prove();
      await flushStatistics(bench.clients, server.major);
      return { soak, dead: await deadTuplesIn(bench.admin, system.schema, bench.pgstattuple) };
    });
    await phase("drain", (stop) => drain(bench.load, drainSecondsMax, stop));
    const { first, last, seconds } = soak;
    const { tally, lateness } = bench.load;
    const lateMs = lateness.summary();
    const reason = soakInvalidity({
      rate,
      seconds,
      enqueued: tally.enqueued,
      dequeued: tally.dequeued,
      transactionIds: inPostgres ? last.transactionIds - first.transactionIds : null,
      lateMsP99: lateMs?.p99 ?? null,
      depthAtEnd: last.depth,
      mismatch: ledger.mismatch(),
    });
    if (reason !== null) throw new Error(reason);
    const finished = last.dequeued - first.dequeued;
    const { serverCpuSeconds } = soak;
    return {
      seconds,
      sentPerSecond: (last.enqueued - first.enqueued) / seconds,
      finishedPerSecond: finished / seconds,
      depthMax: Math.max(...soak.samples.map(({ depth }) => depth)),
      latencyMs: soak.latency,
      bytesReclaimed: inPostgres ? last.bytesReclaimed - first.bytesReclaimed : null,
      rotations: last.rotations === null ? null : last.rotations - (first.rotations ?? 0),
      serverCpuMicrosPerMessage: serverCpuSeconds === null ? null : quotient(serverCpuSeconds * 1_000_000, finished),
      otherCpuSeconds: soak.otherCpuSeconds,
      lateMs,
      deadTuples: inPostgres ? dead.total : null,
      drifts: driftsOf(
        samples.filter((sample) => sample.phase === soakPhase),
        { inPostgres, rate },
      ),
    };
  } finally {
    await bench.close();
  }
}

const noteOf = ({ phase, seconds, dequeued, depth, deadTuples, bytes: size, latencyP99Ms }: SoakSample): string =>
  `${phase}, ${clock(seconds)}, ${whole(dequeued)} finished, backlog ${whole(depth)}, ${whole(deadTuples)} dead, ` +
  `${bytes(size)}${latencyP99Ms === null ? "" : `, p99 ${ms(latencyP99Ms)}`}`;

/** At every so many samples the harness's garbage is collected, which halts it: the p99 of that window may be the worse for it, the median of windows is not. */
const collectEvery = 6;

/** Adds what only a soak looks at to each sample, and keeps it. */
async function keepingSamples(
  { admin }: Workbench,
  samples: SoakSample[],
): Promise<(sample: Sample) => Promise<SoakSample>> {
  const own = ownMemory();
  const server = await serverMemory(admin);
  return async (sample) => {
    const serverMemoryBytes = (await server?.bytes()) ?? null;
    const { rssBytes, heapBytes } = own(samples.length % collectEvery === 0);
    const kept = {
      ...sample,
      clientRssBytes: rssBytes,
      clientHeapBytes: heapBytes,
      serverMemoryBytes,
    };
    samples.push(kept);
    return kept;
  };
}

/** Of the messages that should have been sent. */
const sentShareMin = 0.99;

/** More than a stall that ends just then leaves behind. */
const behindSecondsMax = 5;

export interface SoakEvidence extends Omit<Evidence, "paced"> {
  rate: number;
  /** How long messages were sent. */
  seconds: number;
  /** Messages that were waiting when sending ended. */
  depthAtEnd: number;
  /** See DeliveryLedger; after the queue was drained. */
  mismatch: string | null;
}

/** Why a soak's figures cannot be used; null when they can. */
export function soakInvalidity(evidence: SoakEvidence): string | null {
  const { rate, seconds, enqueued, depthAtEnd, mismatch } = evidence;
  const general = invalidity({ ...evidence, mismatch: null, paced: true });
  if (general !== null) return general;
  if (enqueued < sentShareMin * rate * seconds) {
    return `invalid: expected ${rate} messages/s to be sent, got: ${(enqueued / seconds).toFixed(0)}/s, because sends took too long: give a lower rate, or more producers`;
  }
  if (depthAtEnd > behindSecondsMax * rate) {
    return `invalid: the consumers fell behind: ${depthAtEnd} messages, ${(depthAtEnd / rate).toFixed(0)} s of sending, were waiting at the end`;
  }
  return mismatch === null ? null : `invalid: ${mismatch}`;
}
