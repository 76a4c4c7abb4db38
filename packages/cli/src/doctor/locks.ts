import { type HeldLock, readHeldLocks, describeLock } from "../output/held-lock.ts";
import { showAge } from "../output/duration.ts";
import { ok, severityOf, type Check, type Finding } from "./finding.ts";

/** Pgque itself holds none for longer than a second, but for an upgrade, a repair and a receive or a maintain that is stuck. */
const heldMsMax = 10_000;

/** Advisory locks of Pgque, which any login can take. */
export const locksCheck: Check = {
  name: "locks",
  needsSchema: true,
  async run({ client, quoted, olderThanMs }) {
    const warnMs = Math.min(heldMsMax, olderThanMs);
    const locks = await readHeldLocks(client, quoted, warnMs);
    if (locks.length === 0) return [ok("nobody holds a lock of Pgque for long")];
    return locks.map((lock) => lockFinding(lock, warnMs, (text) => client.escapeLiteral(text)));
  },
};

const whys: Record<string, string> = {
  cursor: "the consumer receives nothing until it lets go, and its workers report no error",
  maintain: "the queue is not maintained: messages of crashed workers do not come again, and no space is reclaimed",
  cancel: "no message of the queue can be cancelled, and delayed messages that were cancelled hold up the others",
  subscribe: "nobody can subscribe to the queue, seek in it or purge it",
  idle: "the queue's workers cannot be woken, they poll, up to a second late; and every send notifies",
  registry: "no queue can be created, changed or dropped, none grows, and Pgque cannot be upgraded",
  delayed: "delayed messages and retries are delivered in no queue",
};

function lockFinding(lock: HeldLock, warnMs: number, literal: (text: string) => string): Finding {
  const { purpose, pid, preparedTransaction, heldMs } = lock;
  return {
    severity: severityOf(heldMs, warnMs),
    found: `${describeLock(lock)} for ${showAge(heldMs)}`,
    why: whys[purpose] ?? "the space that this part of maintenance reclaims is not reclaimed",
    fix:
      pid === null
        ? [`rollback prepared ${literal(preparedTransaction ?? "")}`]
        : [
            "-- unless it is an upgrade or a repair that is under way:",
            `select pg_terminate_backend(${pid})`,
            "-- a login that has no business in this database should not be able to connect: revoke connect on database … from public",
          ],
  };
}
