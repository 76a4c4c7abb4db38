import { createConnection } from "node:net";
import type { Pool, PoolClient } from "pg";
import type { Statement } from "../transaction/executor.ts";
import { field } from "../validation/field.ts";

/** How long the server has to answer a cancelled statement. After that the connection is given up. */
const cancelMs = 1000;

const ignore = (): void => undefined;

interface Result {
  rows: Record<string, unknown>[];
}

/** Runs a statement on a pool until the signal is aborted: it is cancelled then, and the reason thrown, unless it was done already. */
export async function abortableQuery(pool: Pool, statement: Statement, signal: AbortSignal): Promise<Result> {
  signal.throwIfAborted();
  const client = await connect(pool, signal);
  // since it was there, and before anybody listened
  if (signal.aborted) {
    putBack(client);
    throw signal.reason;
  }
  let answered = false;
  let given: NodeJS.Timeout | undefined;
  const onAbort = (): void => {
    cancel(client);
    // a client that is ended fails its statement
    given = setTimeout(() => void client.end().catch(() => undefined), cancelMs);
  };
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    const result = await client.query(statement);
    answered = true;
    return result;
  } catch (error) {
    throw signal.aborted ? signal.reason : error;
  } finally {
    signal.removeEventListener("abort", onAbort);
    clearTimeout(given);
    client.off("error", ignore);
    // a cancellation that is still on its way must not hit the next statement
    client.release(!answered || signal.aborted);
  }
}

/** Waits for something that cannot be stopped, until the signal is aborted: then the reason is thrown. */
export function untilAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work;
  return new Promise<T>((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason);
    if (signal.aborted) onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}

/** A connection of the pool, whose errors are heard; one that comes too late goes back. */
async function connect(pool: Pool, signal: AbortSignal): Promise<PoolClient> {
  const connecting = takeOut(pool);
  try {
    return await untilAborted(connecting, signal);
  } catch (error) {
    void connecting.then(putBack, ignore);
    throw error;
  }
}

function putBack(client: PoolClient): void {
  client.off("error", ignore);
  client.release();
}

/**
 * Whoever takes a client out of a pool hears of its end; the statement fails with it, too. From the start: what arrives together with the end of
 * the login is read before a promise could resolve.
 */
function takeOut(pool: Pool): Promise<PoolClient> {
  return new Promise((resolve, reject) => {
    pool.connect((error, client) => {
      if (client === undefined) return reject(error ?? new Error("expected a client of the pool, got none"));
      client.on("error", ignore);
      resolve(client);
    });
  });
}

/** The code of a CancelRequest: https://www.postgresql.org/docs/current/protocol-message-formats.html */
const cancelRequest = 80_877_102;

/** Asks the server, on a connection of its own as the protocol has it, to cancel what a client runs. Best effort. */
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
  socket.on("error", ignore);
  // the other side closes; a pooler forgets the request of who closes first
  socket.setTimeout(cancelMs, () => socket.destroy());
  socket.write(message);
}
