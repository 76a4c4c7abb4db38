import type pg from "pg";
import { NotRun } from "../scenario/not-run.ts";
import { queue } from "../adapters/support/pgque-queue.ts";
import type { Horizon } from "./horizon.ts";
import { unheldFrom } from "./oldest-holder.ts";

/** A consumer that takes nothing, in the words of one system. */
interface Laggard {
  subscribe: string;
  unsubscribe: string;
  /** Yields `kept`, the messages that are kept for it, or no row when there is no such consumer. */
  look: string;
}

const name = "laggard";

const ofPgque: Laggard = {
  subscribe: `select pgque.subscribe('${queue}', '${name}')`,
  unsubscribe: `select pgque.unsubscribe('${queue}', '${name}')`,
  look: `
    select (depth + in_flight)::float8 as kept
      from pgque.consumer_status('${queue}')
     where consumer = '${name}'`,
};

/** Systems whose queues have several consumers, each of which gets every message. */
const laggards: Record<string, Laggard> = { pgque: ofPgque, "pgque-worker": ofPgque };

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
    laggardOf(systemName);
  },
  async hold({ admin, systemName, sent }) {
    const laggard = laggardOf(systemName);
    await admin.query(laggard.subscribe);
    const sentBefore = sent();
    const ageUnheld = await unheldFrom(admin);
    return {
      async prove() {
        const messagesKept = await keptFor(admin, laggard);
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
        await admin.query(laggard.unsubscribe);
        if ((await keptFor(admin, laggard)) !== null) throw new Error(`the consumer ${name} is still there`);
      },
    };
  },
};

function laggardOf(systemName: string): Laggard {
  const laggard = laggards[systemName];
  if (laggard === undefined)
    throw new NotRun(`in ${systemName} a message goes to one consumer only: none can lag behind another`);
  return laggard;
}

async function keptFor(admin: pg.Client, { look }: Laggard): Promise<number | null> {
  const { rows } = await admin.query<{ kept: number }>(look);
  return rows[0]?.kept ?? null;
}
