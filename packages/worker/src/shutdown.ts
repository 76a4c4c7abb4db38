import type { Executor } from "./execute/executor.ts";
import type { ResolvedOptions } from "./resolve-options.ts";
import { deadline } from "./connection/pause.ts";
import type { Settler } from "./settle/settler.ts";

/** How long handlers have to notice that their signal was aborted. */
const abortGraceMs = 1000;

/** How long the database has to hear what was given up, and the loops to end. */
const settleGraceMs = 1000;

/** What is to come to its end. */
export interface ShutDownParts {
  executor: Executor;
  settler: Settler;
  /** Says when all is done. */
  drained(): Promise<void>;
  /** Ends the loops that serve the messages under way, heartbeats and settling. */
  over: AbortController;
  /** Resolves when they have ended. */
  loops: Promise<unknown>;
  /** Aborted: there is no more time. */
  forced: AbortSignal;
}

/**
 * Waits until what is under way is done and settled, for as long as `shutdownTimeoutMs` says. Then handlers have their signal aborted, and
 * what is not done a second later is given back. After it the database connections may be closed.
 */
export async function shutDown(parts: ShutDownParts, { log, shutdownTimeoutMs }: ResolvedOptions): Promise<void> {
  const { executor, settler, over, loops, forced } = parts;
  if (!(await deadline(shutdownTimeoutMs).reached(parts.drained(), forced))) {
    const { running } = executor;
    log.warn("worker aborts what is not done in time", { running, shutdownTimeoutMs, forced: forced.aborted });
    executor.abort();
    await deadline(abortGraceMs).reached(parts.drained());
    executor.giveUp();
    await deadline(settleGraceMs).reached(settler.drained());
  }
  over.abort();
  executor.leave();
  await deadline(settleGraceMs).reached(loops.then(() => undefined));
  if (settler.open.size > 0)
    log.warn("worker leaves messages to the end of their lease", { batches: settler.open.size });
}
