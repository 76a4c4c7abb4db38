import { isPgqueError } from "@pgque/client";
import {
  completed,
  errorMessage,
  number,
  problemsOf,
  refuse,
  type OptionsOf,
  type OptionTable,
} from "@pgque/client/options";
import type { Part } from "../events/worker-events.ts";
import type { Awaited, Failing, Watch } from "./watch.ts";

/** Where a worker is between `start()` and the end of `stop()`. */
export type WorkerState = "idle" | "starting" | "running" | "stopping" | "stopped";

const healthOptions = {
  /** For so long the database may not answer and the worker is ready nevertheless, in milliseconds. 0 to 86400000 (a day). Default: 10000 (10 s). */
  lostAfterMs: { check: number(0, 86_400_000), default: 10_000, help: "how long the database may not answer" },
} satisfies OptionTable;

/** Options of `health()`. */
export interface HealthOptions extends OptionsOf<typeof healthOptions> {}

/** What a worker has in hand. */
export interface Load {
  /** Handlers that run. */
  running: number;
  /** For how many milliseconds the longest of them has been running; null when none runs. */
  oldestRunningMs: number | null;
  /** Messages received and not handled yet, those being handled included. */
  held: number;
  /** Batches that the worker has not finished, and how many of them are handled and only to be settled. */
  openBatches: number;
  unsettledBatches: number;
}

/** How a worker is: nothing but what JSON has. Times are ISO 8601 by this machine's clock. */
export interface WorkerHealth extends Load {
  worker: string;
  queue: string;
  consumer: string;
  state: WorkerState;
  /** False: a part of it has ended though nobody stopped it, and only a restart mends that. */
  isLive: boolean;
  /**
   * Whether it is running; is answered when it receives, settles, keeps its leases and runs schedules; has connections for its transactional
   * handlers, and the one on which it is woken: but for the last `lostAfterMs`. Not either when its queue or consumer was dropped.
   */
  isReady: boolean;
  /** Why it is not live or not ready; empty when it is both. */
  reasons: string[];
  /** Parts that the database does not answer or refuses, since when, and the last error. */
  failing: { part: Part; since: string; error: string }[];
  /** The last receive that was answered, whether something was there or not; null before the first. */
  receivedAt: string | null;
  /** The last heartbeat that was answered; null before the first, which comes with something to keep. */
  heartbeatAt: string | null;
  /** How it waits while there is nothing; null until it first had nothing to do. */
  waiting: "listening" | "polling" | null;
}

/** Without these a worker is no use; what it does not maintain, others do. */
const needed: ReadonlySet<Awaited> = new Set<Awaited>([
  "receiving",
  "settling",
  "heartbeat",
  "scheduling",
  "connection",
]);

/** What no time mends: somebody has dropped what it receives from. */
const isGone = (error: unknown): boolean =>
  isPgqueError(error, "QUEUE_NOT_FOUND") || isPgqueError(error, "CONSUMER_NOT_FOUND");

const noLoad: Load = { running: 0, oldestRunningMs: null, held: 0, openBatches: 0, unsettledBatches: 0 };

/** What `health()` answers. `load`: undefined when the worker does not run. */
export function healthOf(
  who: Pick<WorkerHealth, "worker" | "queue" | "consumer">,
  state: WorkerState,
  load: Load | undefined,
  watch: Watch,
  options: HealthOptions,
): WorkerHealth {
  refuse("health", problemsOf(options, healthOptions));
  const { lostAfterMs } = completed(options, healthOptions);
  const deaths = Array.from(watch.ended, ([part, error]) =>
    error === undefined ? `${part} has ended` : `${part} has ended: ${errorMessage(error)}`,
  );
  const now = Date.now();
  // what it last heard before it was stopped is over
  const failing = load === undefined ? [] : watch.failing;
  const lost = failing.filter(
    ({ part, sinceMs, error }) => needed.has(part) && (isGone(error) || now - sinceMs >= lostAfterMs),
  );
  const late = [...watch.awaited].filter(([what, sinceMs]) => needed.has(what) && now - sinceMs >= lostAfterMs);
  const { deafSinceMs = now } = watch;
  const running = [
    ...lost.map((failure) => lossOf(failure, now) + blockageOf(failure.part, watch)),
    ...late.map(([what, sinceMs]) => waitOf(what, now - sinceMs) + blockageOf(what, watch)),
    ...(now - deafSinceMs >= Math.max(1, lostAfterMs)
      ? [`the connection on which it is woken has been missing for ${secondsOf(now - deafSinceMs)} s`]
      : []),
  ];
  const hindrances = state === "running" ? running : [stateReasons[state]];
  const reasons = [...deaths, ...hindrances];
  return {
    ...who,
    state,
    isLive: deaths.length === 0,
    isReady: reasons.length === 0,
    reasons,
    failing: failing.map(({ part, sinceMs, error }) => ({ part, since: timeOf(sinceMs), error: errorMessage(error) })),
    receivedAt: watch.receivedAtMs === undefined ? null : timeOf(watch.receivedAtMs),
    heartbeatAt: watch.heartbeatAtMs === undefined ? null : timeOf(watch.heartbeatAtMs),
    waiting: watch.waiting ?? null,
    ...(load ?? noLoad),
  };
}

const stateReasons: Readonly<Record<Exclude<WorkerState, "running">, string>> = {
  idle: "it has not been started, or failed to start",
  starting: "it is starting",
  stopping: "it is stopping",
  stopped: "it has been stopped",
};

function waitOf(what: Awaited, ms: number): string {
  if (what === "connection") return `a handler has waited for a connection of the pool for ${secondsOf(ms)} s`;
  return `${what} has waited for an answer of the database for ${secondsOf(ms)} s`;
}

/** Who is the cause of it, where that is known. */
function blockageOf(what: Awaited, { blockedBy }: Watch): string {
  return what === "receiving" && blockedBy !== undefined ? `; ${blockedBy}` : "";
}

const secondsOf = (ms: number): number => Math.round(ms / 1000);

function lossOf({ part, sinceMs, error }: Failing, nowMs: number): string {
  return `${part} has had no good answer from the database for ${secondsOf(nowMs - sinceMs)} s: ${errorMessage(error)}`;
}

function timeOf(ms: number): string {
  return new Date(ms).toISOString();
}
