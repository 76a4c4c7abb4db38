import type { Client } from "pg";
import { described } from "./text.ts";

/** An advisory lock of Pgque that somebody holds for long, as `status` and `doctor` read it. */
export interface HeldLock {
  purpose: string;
  queue: string | null;
  consumer: string | null;
  pid: number | null;
  preparedTransaction: string | null;
  role: string | null;
  applicationName: string | null;
  heldMs: number;
  waitingCount: number;
}

export async function readHeldLocks(client: Client, quoted: string, longerThanMs: number): Promise<HeldLock[]> {
  const { rows } = await client.query<HeldLock>(
    `select purpose, queue_name as queue, consumer, pid, prepared_transaction as "preparedTransaction", role_name as role,
            application_name as "applicationName", waiting as "waitingCount",
            floor(extract(epoch from clock_timestamp() - since) * 1000)::float8 as "heldMs"
       from ${quoted}.held_locks(longer_than => $1 * interval '1 ms')`,
    [longerThanMs],
  );
  return rows;
}

/** Who holds which, in words. */
export function describeLock(lock: HeldLock): string {
  const { purpose, queue, consumer, pid, preparedTransaction, role, applicationName, waitingCount } = lock;
  const who =
    pid === null
      ? `prepared transaction ${JSON.stringify(preparedTransaction)}`
      : `process ${pid} (${applicationName ? `${applicationName}, ` : ""}user ${role ?? "?"})`;
  const place = described({ consumer, queue });
  const waiting =
    waitingCount === 0 ? "" : `, for which ${waitingCount} ${waitingCount === 1 ? "session waits" : "sessions wait"},`;
  return `${who} has held the lock ${JSON.stringify(purpose)}${place && ` of ${place}`}${waiting}`;
}
