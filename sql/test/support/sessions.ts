import type pg from "pg";
import type { TestDatabase } from "../../../test/support/database.ts";
import { pause } from "../cursor/workload.ts";

/** The connection is gone: what was asked on it last may have been done. */
export function isConnectionLoss(error: unknown): boolean {
  const { code = "", message } = error as { code?: string; message: string };
  return /^(57P0|08|ECONN|EPIPE)/.test(code) || /terminated|not queryable|Connection/.test(message);
}

/** The statement was cancelled, and so has not happened. */
export function isCancelled(error: unknown): boolean {
  return (error as { code?: string }).code === "57014";
}

/** Runs work on a connection, and on a new one whenever that breaks. */
export async function everAgain(
  database: TestDatabase,
  wanted: () => boolean,
  work: (client: pg.Client) => Promise<void>,
  afterMs = 20,
): Promise<void> {
  while (wanted()) {
    try {
      const client = await database.connect();
      await work(client);
      await client.end();
    } catch (error) {
      if (!isConnectionLoss(error)) throw error;
      await pause(afterMs);
    }
  }
}
