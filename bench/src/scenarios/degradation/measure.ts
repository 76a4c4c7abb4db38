import type { DegradedSystem, System } from "../../adapters/adapter.ts";
import { degradedSystemNames, degradedSystems, named } from "../../adapters/registry.ts";
import { horizonNamed } from "../../horizons/registry.ts";
import { payloadBytesMin } from "../../load/messages.ts";
import { Latencies, type LatencySummary } from "../../measure/histogram.ts";
import type { Sample } from "../../measure/sampler.ts";
import { quotient } from "../../measure/statistics.ts";
import { clock, ms, whole } from "../../report/format.ts";
import { integerOption, namesOption, repeatOption, settingsOf, type OptionsOf } from "../../runner/options.ts";
import type { StepContext } from "../../runner/scenario.ts";
import { evidenceOf, invalidity } from "../xmin/results.ts";
import { measureXmin, type TrialHooks, type Measured, type PhaseName } from "../xmin/trial.ts";
import { resolveSettings, type Settings } from "../xmin/settings.ts";

export const degradationOptions = {
  /** The original has 3600. */
  durationSeconds: integerOption(
    ["duration <seconds>", "how long the transaction is open in each trial"],
    [1, 86_400],
    900,
    20,
  ),
  rate: integerOption(["rate <messages/s>", "sent one by one"], [1, 1_000_000], 50, 100),
  consumers: integerOption(["consumers <n>", ""], [1, 100], 1),
  payloadBytes: integerOption(["payload-bytes <bytes>", ""], [payloadBytesMin, 1_048_576], 75),
  systems: namesOption(["systems <names>", ""], degradedSystemNames, ["que", "que-patched", "skip-locked", "pgque"]),
  repeat: repeatOption(1),
};

/** What a user of the scenario `degradation` may choose. */
export type DegradationOptions = OptionsOf<typeof degradationOptions>;

export type DegradationSettings = ReturnType<typeof resolveDegradationSettings>;

/** Throws a BenchOptionError for the first option that cannot be used. */
export function resolveDegradationSettings(given: DegradationOptions) {
  const { seconds: heldSeconds, ...settings } = settingsOf(degradationOptions, given);
  const { quick } = settings;
  return {
    ...settings,
    /** Before the transaction is opened. */
    cleanSeconds: Math.min(quick ? 5 : 60, heldSeconds),
    heldSeconds,
    /** The last part of it, whose lock times are those of the end. */
    endSeconds: Math.min(60, heldSeconds / 4),
    synchronousCommit: "on" as const,
    autovacuumNaptimeSeconds: quick ? 1 : 10,
  };
}

/** The settings of the trial of the scenario `xmin` that measures one of this scenario: nobody else is there, and nothing is drained at the end. */
export function trialSettings(settings: DegradationSettings, { batch }: DegradedSystem): Settings {
  const { quick, cleanSeconds, heldSeconds, rate, consumers, payloadBytes, autovacuumNaptimeSeconds } = settings;
  const load = { rate, producers: 1, sendBatch: 1, consumers, batch, payloadBytes };
  return {
    ...resolveSettings({ quick, durationSeconds: heldSeconds, ...load }),
    cleanSeconds,
    recoverySecondsMax: 0,
    bystanders: 0,
    bystanderRows: 1,
    autovacuumNaptimeSeconds,
    // Pgque's own defaults
    rotation: null,
  };
}

/** What was measured while the transaction was open, unless a field says otherwise. Null: could not be. */
export interface DegradationFigures {
  /** Messages that were sent and not finished when the load stopped. */
  backlogEnd: number;
  backlogMax: number;
  /** From when the transaction was opened until the backlog had grown beyond what is sent in ten seconds, for good; null when it did not. */
  ranAwaySeconds: number | null;
  /** Of the statements that picked and locked messages, before the transaction was opened. */
  lockCleanMs: LatencySummary | null;
  /** The same at the end, for `endSeconds` of the settings. */
  lockEndMs: LatencySummary | null;
  /** Of their medians: at the end over before. */
  lockRatio: number | null;
  /** Over all tables of the system, when the load has stopped and the transaction is still open. */
  deadTuples: number;
  sentPerSecond: number;
  finishedPerSecond: number;
  finishedPerSecondClean: number;
  /** Of PostgreSQL; null also where its processes cannot be looked at. */
  serverCpuMicrosPerMessage: number | null;
  serverCpuMicrosPerMessageClean: number | null;
  /** From when a message was due to be sent until a consumer had it in hand. */
  latencyMs: LatencySummary | null;
  bytes: number;
  /** How old the long transaction has become. */
  oldestTransactionSeconds: number;
}

/** What all scenarios sample, and how long the statements took that locked messages since the sample before. */
export interface DegradationSample extends Sample {
  lockP50Ms: number | null;
  lockP99Ms: number | null;
}

/** The transaction of the original inserts a row and then idles: it holds a transaction id. */
export const longTransaction = "idle-in-transaction";

/** A steady load, clean at first and then with a transaction open that nobody ends. Samples stay in `samples` whatever happens. Throws when the figures cannot be used. */
export async function measureDegradation(
  systemName: string,
  { server, settings, signal, note }: StepContext<DegradationSettings>,
  samples: DegradationSample[],
): Promise<DegradationFigures> {
  const degraded = named(degradedSystems, systemName);
  const own = trialSettings(settings, degraded);
  const { rate, cleanSeconds } = settings;
  const times = new LockTimes(settings);
  const hooks: TrialHooks = {
    onPhase(phase) {
      const reason = phase === "held" ? fellBehind(samples.at(-1)?.dequeued ?? 0, cleanSeconds, rate) : null;
      if (reason !== null) throw new Error(reason);
      times.enter(phase);
      note(phase);
    },
    onSample(sample) {
      // the load has stopped and the transaction has ended
      if (sample.phase === "recovery") return;
      const lock = times.sinceSample.take();
      samples.push({ ...sample, lockP50Ms: lock?.p50 ?? null, lockP99Ms: lock?.p99 ?? null });
      const locks = lock === null ? "" : `, ${ms(lock.p50)} to lock one`;
      note(`${sample.phase}, ${clock(sample.seconds)}, backlog ${whole(sample.depth)}${locks}`);
    },
  };
  note("set-up");
  const system = tellingLockTimes(degraded.system, times);
  const measured = await measureXmin(server, system, horizonNamed(longTransaction), own, hooks, signal);
  const reason = invalidity(evidenceOf(measured, own));
  if (reason !== null) throw new Error(reason);
  return figuresOf(measured, times, rate);
}

/** The same system, which tells how long its statements take that pick and lock. */
function tellingLockTimes(system: System, times: LockTimes): System {
  return {
    ...system,
    open(workload) {
      workload.tally.picks = times;
      return system.open(workload);
    },
  };
}

function figuresOf({ clean, held, dead }: Measured, times: LockTimes, rate: number): DegradationFigures {
  const [lockCleanMs, lockEndMs] = [times.clean.summary(), times.end.summary()];
  return {
    backlogEnd: held.last.depth,
    backlogMax: Math.max(...held.samples.map(({ depth }) => depth)),
    ranAwaySeconds: ranAwayAfter(held.samples, rate),
    lockCleanMs,
    lockEndMs,
    lockRatio: quotient(lockEndMs?.p50 ?? null, lockCleanMs?.p50 ?? null),
    deadTuples: dead.total,
    sentPerSecond: (held.last.enqueued - held.first.enqueued) / held.seconds,
    finishedPerSecond: finished(held) / held.seconds,
    finishedPerSecondClean: finished(clean) / clean.seconds,
    serverCpuMicrosPerMessage: cpuMicros(held),
    serverCpuMicrosPerMessageClean: cpuMicros(clean),
    latencyMs: held.latency,
    bytes: held.last.bytes,
    oldestTransactionSeconds: held.last.oldestTransactionSeconds,
  };
}

const finished = ({ first, last }: Measured["held"]): number => last.dequeued - first.dequeued;

const cpuMicros = (phase: Measured["held"]): number | null =>
  quotient(phase.serverCpuSeconds === null ? null : phase.serverCpuSeconds * 1_000_000, finished(phase));

/** How long the statements took that picked and locked messages: before the long transaction, at its end, and between two samples. */
export class LockTimes {
  readonly clean = new Latencies();
  readonly end = new Latencies();
  /** To be taken at every sample. */
  readonly sinceSample = new Latencies();
  readonly #endAfterSeconds: number;
  #phase: PhaseName = "clean";
  #endFromMs = Number.POSITIVE_INFINITY;

  constructor({ heldSeconds, endSeconds }: { heldSeconds: number; endSeconds: number }) {
    this.#endAfterSeconds = heldSeconds - endSeconds;
  }

  /** When the phase begins. */
  enter(phase: PhaseName, nowMs = performance.now()): void {
    this.#phase = phase;
    if (phase === "held") this.#endFromMs = nowMs + this.#endAfterSeconds * 1000;
  }

  record(ms: number, nowMs = performance.now()): void {
    this.sinceSample.record(ms);
    if (this.#phase === "clean") this.clean.record(ms);
    else if (nowMs >= this.#endFromMs) this.end.record(ms);
  }
}

/** A backlog that takes a consumer longer than this, were nothing more sent at the rate, is not one in passing. */
export const runawaySeconds = 10;

/**
 * From the first sample until the backlog is beyond what is sent in `runawaySeconds` and is so in every sample that follows. Null when the last one is
 * below: it was caught up with, or never ran away.
 */
export function ranAwayAfter(samples: { seconds: number; depth: number }[], ratePerSecond: number): number | null {
  const limit = runawaySeconds * ratePerSecond;
  const [first] = samples;
  const away = samples[samples.findLastIndex(({ depth }) => depth <= limit) + 1];
  return first === undefined || away === undefined ? null : away.seconds - first.seconds;
}

/**
 * Why what follows would say nothing of the transaction: the consumer, or the producer, was too slow for the rate before it was opened. Null when both kept
 * up, but for a stall in passing.
 */
export function fellBehind(finishedMessages: number, cleanSeconds: number, ratePerSecond: number): string | null {
  const due = ratePerSecond * cleanSeconds;
  const behind = due - finishedMessages;
  if (behind <= Math.max(ratePerSecond, due / 10)) return null;
  return `invalid: ${behind} of ${due} messages were not finished before the transaction was opened: choose a lower rate`;
}
