import type pg from "pg";
import { NotRun } from "../runner/failure.ts";
import { queue } from "../adapters/support/pgque-queue.ts";
import type { Horizon } from "./horizon.ts";
import { unheldFrom } from "./oldest-holder.ts";

const name = "laggard";

/** Systems whose queues have several consumers, each of which gets every message. */
const systems = new Set(["pgque", "pgque-worker"]);

/**
 * Holds no horizon: what it costs is space. It is a horizon here all the same, since it holds something back from `hold` to `release`, has to be proven to,
 * and is to be compared with `none`; only what to call depends on the system.
 */
export const laggingConsumer: Horizon = {
  name: "lagging-consumer",
  inWords: "a second consumer that takes nothing (lagging-consumer)",
  summary:
    "a second consumer of the queue that takes nothing: whatever is sent is kept for it. It holds no horizon; what it costs is space. Only for systems in which a message goes to several consumers",
  async check({ systemName }) {
    if (!systems.has(systemName))
      throw new NotRun(`in ${systemName} a message goes to one consumer only: none can lag behind another`);
  },
  async hold({ admin, sent }) {
    await admin.query("select pgque.subscribe($1, $2)", [queue, name]);
    const sentBefore = sent();
    const ageUnheld = await unheldFrom(admin);
    return {
      async prove() {
        const messagesKept = await keptFor(admin);
        const expected = sent() - sentBefore;
        if (messagesKept === null) throw new Error(`the consumer ${name} is gone`);
        if (messagesKept < expected) {
          throw new Error(
            `${messagesKept} messages are kept for the consumer ${name}, expected the ${expected} sent since`,
          );
        }
        return { xminAge: await ageUnheld(), messagesKept };
      },
      async release() {
        await admin.query("select pgque.unsubscribe($1, $2)", [queue, name]);
        if ((await keptFor(admin)) !== null) throw new Error(`the consumer ${name} is still there`);
      },
    };
  },
};

/** Null when there is no such consumer. */
async function keptFor(admin: pg.Client): Promise<number | null> {
  const { rows } = await admin.query<{ kept: number }>(
    "select (depth + in_flight)::float8 as kept from pgque.consumer_status($1) where consumer = $2",
    [queue, name],
  );
  return rows[0]?.kept ?? null;
}
