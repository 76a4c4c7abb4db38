import type { Proof } from "../../horizons/horizon.ts";
import type { Sample } from "../../measure/sampler.ts";
import type { ReportedSettings, ResultsHead } from "../../report/results.ts";
import type { Measured } from "./trial.ts";
import type { Settings } from "./settings.ts";

/** One trial of the matrix, before it is run. */
export interface TrialPlan {
  system: string;
  horizon: string;
  /** From 1. */
  repeat: number;
}

/** What a system has that keeps its messages in PostgreSQL. */
const stored =
  <T>(read: (measured: Measured) => T) =>
  (measured: Measured): T | null =>
    measured.inPostgres ? read(measured) : null;

/** Of a phase: how much there was of it. */
const during = ({ first, last }: Measured["held"], count: "enqueued" | "dequeued" | "walBytes"): number =>
  last[count] - first[count];

const perMessage = (figure: number | null, messages: number): number | null =>
  figure === null || messages === 0 ? null : figure / messages;

/** The form that other programs rely on. The held phase, unless a figure says otherwise. */
const readings = {
  enqueuedPerSecond: ({ held }: Measured) => during(held, "enqueued") / held.seconds,
  /** Finished messages; empty receives count nothing. */
  dequeuedPerSecond: ({ held }: Measured) => during(held, "dequeued") / held.seconds,
  /** Over all tables of the system's schema, their TOAST included, when the load has stopped and the holder still holds. */
  deadTuples: stored(({ dead }) => dead.total),
  deadTuplesByRelation: stored(({ dead }) => dead.byRelation),
  /** Tables, indexes, TOAST and sequences of the schema, at the end of the phase. */
  bytes: stored(({ held }) => held.last.bytes),
  bytesReclaimed: stored(({ held }) => held.last.bytesReclaimed - held.first.bytesReclaimed),
  /** Segments emptied by TRUNCATE; null for a system that has none. */
  rotations: ({ held: { first, last } }: Measured) =>
    last.rotations === null ? null : last.rotations - (first.rotations ?? 0),
  walBytesPerMessage: stored(({ held }) => perMessage(during(held, "walBytes"), during(held, "dequeued"))),
  /** From the time a message was meant to be sent until a consumer had it in hand. */
  latencyMs: ({ held }: Measured) => held.latency,
  bystanderMs: ({ held }: Measured) => held.bystander,
  depthMax: ({ held }: Measured) => Math.max(...held.samples.map(({ depth }) => depth)),
  /** The backlog's, once the holder has let go; null when it did not drain within the time allowed. */
  drainSeconds: ({ recovery }: Measured) => recovery.result,
  details: detailsOf,
};

type Readings = typeof readings;

/** Null: not measured. */
type TrialFigures = { [Name in keyof Readings]: ReturnType<Readings[Name]> | null };

/** One system under one horizon, once. */
export interface TrialResult extends TrialPlan, Omit<TrialFigures, "details"> {
  /** Of the server, as in "17.10". */
  postgres: string;
  /** Why it was not run: this server, this system or this machine cannot have it. Absent in files of before there was the field. */
  skipped?: string | null;
  /** Why there are no figures though it was run; in files of before there was the field `skipped` also why it was not. */
  error: string | null;
  /** Null when there are no figures. */
  details: TrialDetails | null;
}

/** What a reader may want to know besides; other programs should not rely on it. */
export type TrialDetails = Omit<ReturnType<typeof detailsOf>, "unsent" | "horizon"> & {
  /** Were due and never sent, because the sends before them took until the phase was over. Not there in results of before it was counted. */
  unsent?: number;
  /** What was seen of the holder at the end, which is more than the age of some. Absent in files of before it was kept. */
  horizon?: Proof;
};

function detailsOf(measured: Measured) {
  const { clean, held, recovery, catalogBefore, catalogAfter, bench, proof } = measured;
  const { first, last } = held;
  const dequeued = during(held, "dequeued");
  return {
    seconds: held.seconds,
    enqueued: during(held, "enqueued"),
    dequeued,
    unsent: held.unsent,
    clean: {
      seconds: clean.seconds,
      enqueuedPerSecond: during(clean, "enqueued") / clean.seconds,
      dequeuedPerSecond: during(clean, "dequeued") / clean.seconds,
    },
    /** Read from every page with pgstattuple, or taken from the statistics. */
    deadTuplesFrom: bench.pgstattuple ? "pgstattuple" : "statistics",
    tuplesUpdated: measured.tuplesUpdated,
    tuplesDeleted: measured.tuplesDeleted,
    /** System catalogs, before and at the end of the held phase. */
    catalogDeadTuples: {
      before: catalogBefore.total,
      after: catalogAfter.total,
      byRelation: Object.fromEntries(Object.entries(catalogAfter.byRelation).filter(([, dead]) => dead > 0)),
    },
    bytesMax: Math.max(...held.samples.map(({ bytes }) => bytes)),
    indexBytes: last.indexBytes,
    transactionIdsPerMessage: perMessage(last.transactionIds - first.transactionIds, dequeued),
    autovacuums: last.autovacuums - first.autovacuums,
    buffersHit: last.buffersHit - first.buffersHit,
    buffersRead: last.buffersRead - first.buffersRead,
    /** In transactions, as seen from another session at the end of the held phase. */
    xminAge: proof.xminAge,
    horizon: proof,
    serverCpuSeconds: held.serverCpuSeconds,
    /** Of whatever else ran on the machine. */
    otherCpuSeconds: held.otherCpuSeconds,
    serverCpuMicrosPerMessage: perMessage(held.serverCpuSeconds && held.serverCpuSeconds * 1_000_000, dequeued),
    harness: {
      cpuSeconds: held.harnessCpuSeconds,
      busy: held.harnessBusy,
      lateMs: bench.load.lateness.summary(),
    },
    calls: held.result,
    backlogAfterRecovery: recovery.last.depth,
  };
}

const mapReadings = (read: (reading: (measured: Measured) => unknown) => unknown): TrialFigures =>
  Object.fromEntries(Object.entries(readings).map(([name, reading]) => [name, read(reading)])) as TrialFigures;

/** Of a valid trial. */
export const figures = (measured: Measured) => ({
  ...mapReadings((reading) => reading(measured)),
  skipped: null,
  error: null,
});

/** A trial without figures: a reason is never shown as a number. */
export const trialWithout = (
  trial: TrialPlan & { postgres: string },
  reason: { skipped: string | null; error: string | null },
): TrialResult => ({ ...trial, ...mapReadings(() => null), ...reason });

/** Whether a trial has figures; one that was not run or failed has none. */
export const hasFigures = ({ skipped, error }: TrialResult): boolean => (skipped ?? error) === null;

export interface Results extends ResultsHead {
  settings: ReportedSettings<Settings>;
  trials: TrialResult[];
  /** True when it was stopped before all trials were run. */
  interrupted: boolean;
}

/** The samples of one trial, for samples.csv. */
export interface TrialSamples extends TrialPlan {
  /** Of the server, as in "17.10". */
  postgres: string;
  samples: Sample[];
}

/** A timer that wakes this late makes the harness, not the server, the one that is measured. */
const lateMsMax = 50;

/** What tells whether a trial's figures can be used. */
export interface Evidence {
  enqueued: number;
  dequeued: number;
  /** Transaction ids used while the horizon was held; null when the system writes nothing to PostgreSQL. */
  transactionIds: number | null;
  paced: boolean;
  /** How late the harness itself was in the latest 1 % of its sends; null when it had no times to keep. */
  lateMsP99: number | null;
  /** See DeliveryLedger. */
  mismatch: string | null;
}

/** Why a trial's figures cannot be used; null when they can. */
export function invalidity(evidence: Evidence): string | null {
  const { enqueued, dequeued, transactionIds, paced, lateMsP99, mismatch } = evidence;
  if (dequeued > enqueued) return `invalid: ${dequeued} messages finished, but only ${enqueued} sent`;
  if (transactionIds === 0) return "invalid: no transaction wrote anything while the horizon was held";
  if (paced && lateMsP99 !== null && lateMsP99 > lateMsMax) {
    return `invalid: the harness was ${lateMsP99.toFixed(0)} ms late in 1 % of its sends: too little CPU left for it`;
  }
  return mismatch === null ? null : `invalid: ${mismatch}`;
}

export function evidenceOf({ bench, held, inPostgres, mismatch }: Measured, settings: Settings): Evidence {
  return {
    enqueued: bench.load.tally.enqueued,
    dequeued: bench.load.tally.dequeued,
    transactionIds: inPostgres ? held.last.transactionIds - held.first.transactionIds : null,
    paced: settings.mode === "paced",
    lateMsP99: bench.load.lateness.summary()?.p99 ?? null,
    mismatch,
  };
}
