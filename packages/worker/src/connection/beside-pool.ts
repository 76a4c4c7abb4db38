import type { Pgque } from "@pgque/client";
import type { Client } from "pg";
import { errorMessage } from "@pgque/client/options";
import { within } from "./answer.ts";
import type { Logger } from "../log.ts";

/** What the application does to each connection of its pool has failed on one beside the pool, which is given up. */
export class ConnectHandlerError extends Error {
  override readonly name = "ConnectHandlerError";
}

/**
 * Connects as the pool would: what the application has done to each of its connections, `set role` say, is done to this one too, and waited for.
 *
 * @throws ConnectHandlerError when that fails
 */
export async function connectBeside({ pool }: Pgque, client: Client, limitMs: number): Promise<void> {
  await within(limitMs, client.connect());
  const { onConnect } = pool.options as { onConnect?: (client: Client) => unknown };
  // a foreign pool may tell of nothing
  const handlers: unknown[] = typeof pool.listeners === "function" ? pool.listeners("connect") : [];
  const calls = [...handlers, ...(onConnect ? [onConnect] : [])] as ((client: Client) => unknown)[];
  try {
    // an async handler's own failure would end the process
    await within(limitMs, Promise.all(calls.map(async (handle) => Reflect.apply(handle, pool, [client]))));
  } catch (cause) {
    throw new ConnectHandlerError(errorMessage(cause), { cause });
  }
}

/** Lets something be said, and then not again for a while, however often it happens. */
export class Throttle {
  readonly #intervalMs: number;
  #saidAtMs = Number.NEGATIVE_INFINITY;

  constructor(intervalMs = 60_000) {
    this.#intervalMs = intervalMs;
  }

  /** Whether it is to be said now. `nowMs`: by `performance.now()`. */
  isDue(nowMs: number = performance.now()): boolean {
    if (nowMs - this.#saidAtMs < this.#intervalMs) return false;
    this.#saidAtMs = nowMs;
    return true;
  }
}

/** One for each, whoever connects beside its pool. */
const warnings = new WeakMap<Pgque, Throttle>();

/** Says, once a minute at most, that a handler of the application's pool is what keeps a connection away. Whether it is one that failed. */
export function warnOfHandler(pgque: Pgque, log: Logger, error: unknown): boolean {
  if (!(error instanceof ConnectHandlerError)) return false;
  const throttle = warnings.get(pgque) ?? new Throttle();
  warnings.set(pgque, throttle);
  if (throttle.isDue())
    log.warn(
      "a `connect` handler of the pool fails on the connection that workers have beside it, so that they poll and send heartbeats through the pool: " +
        "make it work on any connection of the pool's options, and end",
      { error: error.cause },
    );
  return true;
}
