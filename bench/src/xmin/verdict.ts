import type { CellDetails, CellResult } from "./xmin-results.ts";
import type { Settings } from "./xmin-settings.ts";
import type { Measured } from "./xmin-cell.ts";

/** A timer that wakes this late makes the harness, not the server, the one that is measured. */
const lateMsMax = 50;

/** What tells whether a cell's figures can be used. */
export interface Evidence {
  enqueued: number;
  dequeued: number;
  /** Transaction ids used while the horizon was held; null when the system writes nothing to PostgreSQL. */
  transactionIds: number | null;
  paced: boolean;
  /** How late the harness itself was in the latest 1 % of its sends; null when it had no times to keep. */
  lateMsP99: number | null;
  /** See MessageBooks. */
  mismatch: string | null;
}

/** Why a cell's figures cannot be used; null when they can. */
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

/** The held phase of a valid cell, in the form other programs rely on. */
export function figures(measured: Measured): Omit<CellResult, "system" | "horizon" | "postgres" | "repeat"> {
  const { held, inPostgres } = measured;
  const enqueued = held.last.enqueued - held.first.enqueued;
  const dequeued = held.last.dequeued - held.first.dequeued;
  const stored = <T>(figure: T): T | null => (inPostgres ? figure : null);
  const walBytes = held.last.walBytes - held.first.walBytes;
  return {
    enqueuedPerSecond: enqueued / held.seconds,
    dequeuedPerSecond: dequeued / held.seconds,
    deadTuples: stored(measured.dead.total),
    deadTuplesByRelation: stored(measured.dead.byRelation),
    bytes: stored(held.last.bytes),
    bytesReclaimed: stored(held.last.bytesReclaimed - held.first.bytesReclaimed),
    rotations: held.last.rotations === null ? null : held.last.rotations - (held.first.rotations ?? 0),
    walBytesPerMessage: dequeued === 0 ? null : stored(walBytes / dequeued),
    latencyMs: held.latency,
    bystanderMs: held.bystander,
    depthMax: Math.max(...held.samples.map(({ depth }) => depth)),
    drainSeconds: measured.recovery.result,
    notRun: null,
    error: null,
    details: details(measured, enqueued, dequeued),
  };
}

function details(measured: Measured, enqueued: number, dequeued: number): CellDetails {
  const { clean, held } = measured;
  const { first, last } = held;
  const perMessage = (figure: number | null): number | null =>
    figure === null || dequeued === 0 ? null : figure / dequeued;
  return {
    seconds: held.seconds,
    enqueued,
    dequeued,
    unsent: held.unsent,
    clean: {
      seconds: clean.seconds,
      enqueuedPerSecond: (clean.last.enqueued - clean.first.enqueued) / clean.seconds,
      dequeuedPerSecond: (clean.last.dequeued - clean.first.dequeued) / clean.seconds,
    },
    deadTuplesFrom: measured.deadTuplesFrom,
    tuplesUpdated: measured.tuplesUpdated,
    tuplesDeleted: measured.tuplesDeleted,
    catalogDeadTuples: {
      before: measured.catalogBefore.total,
      after: measured.catalogAfter.total,
      byRelation: Object.fromEntries(Object.entries(measured.catalogAfter.byRelation).filter(([, dead]) => dead > 0)),
    },
    bytesMax: Math.max(...held.samples.map(({ bytes }) => bytes)),
    indexBytes: last.indexBytes,
    transactionIdsPerMessage: perMessage(last.transactionIds - first.transactionIds),
    autovacuums: last.autovacuums - first.autovacuums,
    buffersHit: last.buffersHit - first.buffersHit,
    buffersRead: last.buffersRead - first.buffersRead,
    xminAge: measured.proof.xminAge,
    horizon: measured.proof,
    serverCpuSeconds: held.serverCpuSeconds,
    otherCpuSeconds: held.otherCpuSeconds,
    serverCpuMicrosPerMessage: perMessage(held.serverCpuSeconds === null ? null : held.serverCpuSeconds * 1_000_000),
    harness: {
      cpuSeconds: held.harnessCpuSeconds,
      busy: held.harnessBusy,
      lateMs: measured.bench.load.lateness.summary(),
    },
    calls: held.result,
    backlogAfterRecovery: measured.recovery.last.depth,
  };
}
