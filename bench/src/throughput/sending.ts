import { randomPayloads } from "../load/payload.ts";
import { saturate, type Caller } from "../load/saturate.ts";
import { rowsIn } from "../adapters/support/pg-store.ts";
import type { Site, Work } from "./throughput-cell.ts";

/** Different payloads that are sent in turn where a call has fewer. */
const payloadsInTurn = 1000;

/** Every client sends again as soon as its last send has returned. Nobody receives. */
export async function sending(site: Site): Promise<Work> {
  const { tally, settings, signal } = site;
  const callers = senders(site);
  await saturate(callers, settings.warmupSeconds, signal);
  return {
    run: (until) => saturate(callers, settings.seconds, until),
    messages: () => tally.enqueued,
    async check() {
      const stored = await rowsOf(site);
      if (stored < tally.enqueued)
        throw new Error(`invalid: ${tally.enqueued} messages sent, but only ${stored} rows stored`);
    },
  };
}

/** The payloads are made before: to make them is no part of a send. */
function senders({ plan: { perCall, payloadBytes }, running, tally }: Site): Caller[] {
  const payloads = randomPayloads(Math.max(perCall, payloadsInTurn), payloadBytes);
  let next = 0;
  const nextPayloads = (): string[] => {
    if (perCall === payloads.length) return payloads;
    if (next + perCall > payloads.length) next = 0;
    next += perCall;
    return payloads.slice(next - perCall, next);
  };
  return running.send.map((send, index) => ({
    name: `send ${index + 1}`,
    async call() {
      await send(nextPayloads());
      tally.sent(perCall);
    },
  }));
}

/** In all tables of the system together: at least one for each message. */
async function rowsOf({ admin, schema }: Site): Promise<number> {
  const { rows } = await admin.query<{ name: string }>(
    "select oid::regclass::text as name from pg_class where relnamespace = $1::regnamespace and relkind = 'r'",
    [schema],
  );
  let sum = 0;
  for (const { name } of rows) sum += await rowsIn(admin, name);
  return sum;
}
