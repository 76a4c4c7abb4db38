import type { Pgque } from "@pgque/client";
import type { ResolvedOptions } from "./options.ts";
import { repeat } from "./repeat.ts";
import type { Settler } from "./settler.ts";

/** A heartbeat counts for this many intervals: two may be lost. */
const intervalsAlive = 3;

/** Keeps the leases of open batches alive. Without any, nothing is sent. */
export function startHeartbeat(pgque: Pgque, options: ResolvedOptions, settler: Settler, over: AbortSignal): void {
  const { heartbeatIntervalMs, log } = options;
  void repeat("heartbeat", heartbeatIntervalMs, log, over, async () => {
    const names = new Set(Array.from(settler.open, ({ worker }) => worker));
    for (const name of names) await pgque.heartbeat(name, intervalsAlive * heartbeatIntervalMs);
  });
}
