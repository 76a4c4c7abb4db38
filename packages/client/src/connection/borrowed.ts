import { createConnection, type Socket } from "node:net";
import type { Pool, PoolClient } from "pg";
import { field } from "../options/field.ts";

/** No connection was had, and so nothing was sent. Its cause is why. */
export class NotConnected extends Error {
  override readonly name = "NotConnected";
}

/** How long the server has to hear of a statement that is to be cancelled. */
const cancelMs = 1000;

/**
 * A connection that was taken out of a pool. Its errors are heard from the first moment on: what arrives together with the end of the login is
 * read before a promise could resolve. It goes back once, and never when it is broken.
 */
export class Borrowed {
  readonly client: PoolClient;
  #error: Error | undefined;
  #isBack = false;

  private constructor(client: PoolClient) {
    this.client = client;
    client.on("error", this.#onError);
  }

  /**
   * Waits for a connection of the pool. With an aborted signal that wait is over: it has no place in the pool's queue any more.
   *
   * @throws NotConnected whose cause is what the pool said, or the signal's reason
   */
  static take(pool: Pool, signal?: AbortSignal): Promise<Borrowed> {
    return new Promise((resolve, reject) => {
      const fail = (cause: unknown): void => reject(new NotConnected("no connection", { cause }));
      if (signal?.aborted) return fail(signal.reason);
      let leave = (): void => undefined;
      const onAbort = (): void => {
        leave();
        fail(signal?.reason);
      };
      signal?.addEventListener("abort", onAbort, { once: true });
      const before = waitingIn(pool).length;
      const connected = (error: Error | undefined, client: PoolClient | undefined): void => {
        signal?.removeEventListener("abort", onAbort);
        if (client === undefined) return fail(error ?? new Error("expected a client of the pool, got none"));
        const borrowed = new Borrowed(client);
        // it was connected although nobody waits for it any more
        if (signal?.aborted) borrowed.giveBack();
        else resolve(borrowed);
      };
      try {
        pool.connect(connected);
      } catch (error) {
        return connected(error as Error, undefined);
      }
      const waiting = waitingIn(pool);
      if (waiting.length > before) leave = leaving(pool, waiting.at(-1));
    });
  }

  /** Why it is of no use any more; undefined while it is. */
  get error(): Error | undefined {
    return this.#error;
  }

  /** From now on it is not for others. */
  spoil(error: Error): void {
    this.#error ??= error;
  }

  /** Gives it back to its pool, or away when it is broken. Any number of times. */
  giveBack(): void {
    if (this.#isBack) return;
    this.#isBack = true;
    this.client.off("error", this.#onError);
    this.client.release(this.#error !== undefined);
  }

  /** Asks the server, on a connection of its own as the protocol has it, to cancel what runs here. Without waiting, best effort. */
  cancel(): void {
    cancel(this.client);
  }

  /** Ends it at once, whatever runs on it and whether its other side is there or not. What runs fails, and the server rolls back. */
  destroy(error: Error): void {
    if (this.#isBack) return;
    this.spoil(error);
    this.cancel();
    streamOf(this.client)?.destroy();
    this.giveBack();
  }

  readonly #onError = (error: Error): void => this.spoil(error);
}

/** The socket of a client of `pg`. */
export function streamOf(client: object): Socket | undefined {
  return field(field(client, "connection"), "stream") as Socket | undefined;
}

interface Pending {
  timedOut: boolean;
}

/** Who waits in a pool of `pg`: it has no other way to leave than its timeout, which is done here the same. */
function waitingIn(pool: Pool): Pending[] {
  const queue = field(pool, "_pendingQueue");
  return Array.isArray(queue) ? (queue as Pending[]) : [];
}

function leaving(pool: Pool, pending: Pending | undefined): () => void {
  return () => {
    const queue = waitingIn(pool);
    const place = pending === undefined ? -1 : queue.indexOf(pending);
    if (place < 0 || pending === undefined) return;
    queue.splice(place, 1);
    pending.timedOut = true;
  };
}

/** The code of a CancelRequest: https://www.postgresql.org/docs/current/protocol-message-formats.html */
const cancelRequest = 80_877_102;

function cancel(client: PoolClient): void {
  const [host, port, pid, key] = ["host", "port", "processID", "secretKey"].map((name) => field(client, name));
  if (typeof host !== "string" || typeof port !== "number" || typeof pid !== "number" || typeof key !== "number")
    return;
  const message = Buffer.alloc(16);
  message.writeInt32BE(message.length, 0);
  message.writeInt32BE(cancelRequest, 4);
  message.writeInt32BE(pid, 8);
  message.writeInt32BE(key, 12);
  const socket = createConnection(host.startsWith("/") ? { path: `${host}/.s.PGSQL.${port}` } : { host, port });
  // what cannot be cancelled is given up with its connection
  socket.on("error", () => undefined);
  // the other side closes; a pooler forgets the request of who closes first
  socket.setTimeout(cancelMs, () => socket.destroy());
  socket.write(message);
}
