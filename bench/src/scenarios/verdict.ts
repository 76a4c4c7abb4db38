import type { CellDetails, CellResult } from "../report/results.ts";
import type { Settings } from "../settings.ts";
import type { Measured } from "./xmin.ts";

/** A timer that wakes this late makes the harness, not the server, the one that is measured. */
const lateMsMax = 50;

/** Why a cell's figures cannot be used; null when they can. */
export function invalidity(measured: Measured, settings: Settings): string | null {
  const { load } = measured.bench;
  const { enqueued, dequeued } = load.tally;
  if (dequeued > enqueued) return `invalid: ${dequeued} messages finished, but only ${enqueued} sent`;
  if (measured.held.last.transactionIds === measured.held.first.transactionIds) {
    return "invalid: no transaction wrote anything while the horizon was held";
  }
  const late = load.lateness.summary();
  if (settings.mode === "paced" && late !== null && late.p99 > lateMsMax) {
    return `invalid: the harness itself was ${late.p99.toFixed(0)} ms late in 1 % of its sends (${Math.round(measured.held.harnessBusy * 100)} % busy)`;
  }
  return null;
}

/** The held phase of a valid cell, in the form other programs rely on. */
export function figures(measured: Measured): Omit<CellResult, "system" | "horizon" | "postgres" | "repeat"> {
  const { held } = measured;
  const enqueued = held.last.enqueued - held.first.enqueued;
  const dequeued = held.last.dequeued - held.first.dequeued;
  const walBytes = held.last.walBytes - held.first.walBytes;
  return {
    enqueuedPerSecond: enqueued / held.seconds,
    dequeuedPerSecond: dequeued / held.seconds,
    deadTuples: measured.dead.total,
    deadTuplesByRelation: measured.dead.byRelation,
    bytes: held.last.bytes,
    bytesReclaimed: held.last.bytesReclaimed - held.first.bytesReclaimed,
    rotations: held.last.rotations === null ? null : held.last.rotations - (held.first.rotations ?? 0),
    walBytesPerMessage: dequeued === 0 ? null : walBytes / dequeued,
    latencyMs: held.latency,
    bystanderMs: held.bystander,
    depthMax: Math.max(...held.samples.map(({ depth }) => depth)),
    drainSeconds: measured.recovery.result,
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
    xminAge: measured.xminAge,
    serverCpuSeconds: held.serverCpuSeconds,
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
