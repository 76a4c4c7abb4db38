import type { ConsumerStatus, HeldLock, Pgque, QueueStatus, WorkerStatus } from "@pgque/client";
import { findHolders, type Holder } from "@pgque/client/horizon";
import { redact } from "@pgque/client/redact";

/** Something that was read, or why it could not be. */
export type Part<Value> = { ok: true; value: Value } | { ok: false; error: string };

/** Everything that the first page shows, as it was at one time. */
export interface Overview {
  /** When it was read, ISO 8601. */
  at: string;
  /** How long that took. */
  tookMs: number;
  queues: Part<QueueStatus[]>;
  consumers: Part<ConsumerStatus[]>;
  /** Who holds a lock of Pgque for ten seconds and longer. */
  locks: Part<HeldLock[]>;
  workers: Part<WorkerStatus[]>;
  /** Who holds back user tables for a second and longer: who holds back most first. */
  holders: Part<Holder[]>;
}

/** What takes longer than that would hold the horizon itself. */
const readTimeoutMs = 10_000;

/** Reads it anew. A part that cannot be read says why; the others are there. */
export async function readOverview(pgque: Pgque): Promise<Overview> {
  const began = Date.now();
  const signal = AbortSignal.timeout(readTimeoutMs);
  const [queues, consumers, locks, workers, holders] = await Promise.all([
    part(pgque.queues.list({ signal })),
    part(pgque.consumers.list(undefined, { signal })),
    part(pgque.queues.heldLocks({ signal })),
    part(pgque.runtime.workers({ signal })),
    part(findHolders(pgque.pool).then((all) => all.filter(isShown))),
  ]);
  return { at: new Date(began).toISOString(), tookMs: Date.now() - began, queues, consumers, locks, workers, holders };
}

/** The value, or why there is none, without secrets. */
export function part<Value>(reading: Promise<Value>): Promise<Part<Value>> {
  return reading.then(
    (value) => ({ ok: true, value }),
    (error: unknown) => ({ ok: false, error: redact(error instanceof Error ? error.message : String(error)) }),
  );
}

function isShown({ holds, ageMs }: Holder): boolean {
  return holds === "tables" && (ageMs === null || ageMs >= 1000);
}
