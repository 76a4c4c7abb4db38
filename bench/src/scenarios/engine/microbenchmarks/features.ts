import type pg from "pg";
import { consumerName, queue } from "../../../adapters/support/pgque-queue.ts";
import { closing } from "../../../runner/failure.ts";
import { quotient, spreadOf } from "../../../measure/statistics.ts";
import { ratio } from "../../../report/format.ts";
import { rotate } from "../../../runner/trials.ts";
import { defineMicrobenchmark, type DeclaredValue } from "../microbenchmark.ts";
import { openQueue, payload, payloadBytes, type QueueDatabase } from "../queue.ts";

/** A queue that uses one feature. */
interface Variant {
  label: string;
  queue: Record<string, unknown>;
  /** The options of the i-th send, in SQL; i counts from 1. */
  send: string;
  subscribe: {
    mode: "shared" | "ordered";
    rate_limit?: number;
    max_in_flight?: number;
    max_in_flight_per_key?: number;
  };
  /** What is sent is not received before it has been delivered. */
  delivered?: true;
}

/** What all others are compared with. */
const plain: Variant = { label: "plain", queue: {}, send: "null", subscribe: { mode: "shared" } };

const byKey = { queue: { partitions: 16 }, send: "jsonb_build_object('key', 'key ' || i % 1000)" };

/** To compare a feature, add it here. */
const variants: Record<string, Variant> = {
  control: { ...plain, label: "plain again" },
  headers: { ...plain, label: "headers", send: `jsonb_build_object('headers', '{"of": "a trace"}'::jsonb)` },
  priority: {
    ...plain,
    label: "3 priorities",
    queue: { priorities: 3 },
    send: "jsonb_build_object('priority', i % 3)",
  },
  key: { ...plain, ...byKey, label: "16 lanes by key, shared" },
  ordered: { ...byKey, label: "16 lanes by key, ordered", subscribe: { mode: "ordered" } },
  perKey: {
    ...byKey,
    label: "16 lanes by key, a limit for each, not reached",
    subscribe: { mode: "shared", max_in_flight_per_key: 100 },
  },
  dedupe: { ...plain, label: "a dedupe key each", send: "jsonb_build_object('dedupe_key', gen_random_uuid()::text)" },
  expiry: { ...plain, label: "expiry, none expired", queue: { allow_expiry: true }, send: `'{"ttl": 3600}'` },
  cancel: { ...plain, label: "cancel, none cancelled", queue: { allow_cancel: true } },
  rate: { ...plain, label: "a rate limit, not reached", subscribe: { mode: "shared", rate_limit: 1_000_000 } },
  inFlight: { ...plain, label: "a limit in flight, not reached", subscribe: { mode: "shared", max_in_flight: 1000 } },
  delayed: { ...plain, label: "delayed", send: `'{"delay": 0.001}'`, delivered: true },
};

const batch = 100;
const micros = (count: number): string => `${count.toFixed(1)} µs`;

export const features = defineMicrobenchmark({
  name: "features",
  statement:
    "the time of a send, and of receiving and finishing a message, on a queue that uses a feature, against a plain queue",
  method: [
    "procedures in the server send one message a transaction, and receive and ack batches of 100, two transactions each: no round trip dilutes the cost",
    `payload of ${payloadBytes} bytes; one session for each queue, each queue in a database of its own, synchronous_commit off, no rotation`,
    "in each round every queue in turn, another one first, sends and then finishes so many messages; the median of the rounds' ratios. plain again: a second queue without features, so what differs is noise",
    "keys are of a thousand, priorities take turns; building the options is part of the send. Delayed messages are due when they are received; to deliver them, by maintain(queue), is part of the receive",
  ],
  sizes: { full: { rounds: 7, messages: 10_000 }, quick: { rounds: 3, messages: 2000 } },
  async measure(context, { rounds, messages }) {
    const all = { plain, ...variants };
    const databases: QueueDatabase[] = [];
    try {
      const loops: (Loop & { times: Times })[] = [];
      const times: Record<string, Times> = {};
      for (const [name, variant] of Object.entries(all)) {
        const options = { rotation_min_interval: "1 year", ...variant.queue };
        const database = await openQueue(context, options, variant.subscribe);
        databases.push(database);
        times[name] = { send: [], finish: [] };
        loops.push({ ...(await openLoop(database, name, variant)), times: times[name] });
      }
      for (let round = 0; round <= rounds; round++) {
        // nobody is always the first
        for (const loop of rotate(loops, round)) {
          context.signal.throwIfAborted();
          context.note(`${loop.name}, round ${round} of ${rounds}`);
          const [sent, finished] = [await loop.send(messages), await loop.finish(messages)];
          // the first compiles functions and extends tables
          if (round === 0) continue;
          loop.times.send.push(sent / messages);
          loop.times.finish.push(finished / messages);
        }
      }
      return times;
    } finally {
      await closing(...databases.map((database) => () => database.close()))();
    }
  },
  values: {
    plainSend: ["plain, send", micros, ({ plain }) => median(plain?.send)],
    plainFinish: ["plain, receive and ack, per message", micros, ({ plain }) => median(plain?.finish)],
    ...Object.fromEntries(
      Object.entries(variants).flatMap(([name, { label }]) => [
        [`${name}Send`, against(name, "send", `${label} / plain, send`)],
        [`${name}Finish`, against(name, "finish", `${label} / plain, receive and ack`)],
      ]),
    ),
  },
});

/** Microseconds a message, round by round. */
type Times = Record<"send" | "finish", number[]>;
type AllTimes = Record<string, Times>;

const median = (values: (number | null)[] = []): number | undefined => spreadOf(values)?.median;

/** The median of the rounds' ratios. */
function against(name: string, what: keyof Times, label: string): DeclaredValue<AllTimes> {
  const read = ({ plain, ...others }: AllTimes): number | undefined =>
    median(others[name]?.[what].map((took, round) => quotient(took, plain?.[what][round] ?? null)));
  return [label, ratio, read];
}

/** What is done with so many messages; how many microseconds it took. */
interface Loop {
  name: string;
  send(messages: number): Promise<number>;
  finish(messages: number): Promise<number>;
}

async function openLoop({ connect }: QueueDatabase, name: string, variant: Variant): Promise<Loop> {
  const client = await connect("loop", { synchronousCommit: "off" });
  await client.query(procedures(variant.send));
  const timed = async (call: () => Promise<unknown>): Promise<number> => {
    const startMs = performance.now();
    await call();
    return (performance.now() - startMs) * 1000;
  };
  return {
    name,
    send: (messages) => timed(() => client.query("call public.bench_send($1, $2)", [messages, payload()])),
    finish: (messages) =>
      timed(async () => {
        if (variant.delivered) await deliver(client);
        const { rows } = await client.query<{ finished: string }>("call public.bench_finish(null)");
        const finished = Number(rows[0]?.finished);
        if (finished !== messages) throw new Error(`expected to finish ${messages} messages, got: ${finished}`);
      }),
  };
}

async function deliver(client: pg.Client): Promise<void> {
  for (;;) {
    const { rows } = await client.query<{ done: number }>("select pgque.maintain($1) as done", [queue]);
    if (rows[0]?.done === 0) return;
  }
}

const procedures = (options: string): string => `
  create procedure public.bench_send(messages int, payload text) language plpgsql as $$
  begin
    for i in 1 .. messages loop
      perform pgque.send('${queue}', 'default', payload, ${options});
      commit;
    end loop;
  end
  $$;
  create procedure public.bench_finish(inout finished bigint) language plpgsql as $$
  declare
    got bigint;
    batch bigint;
  begin
    finished := 0;
    loop
      select count(*), min(batch_id) into got, batch from pgque.receive_messages('${queue}', '${consumerName}', null, ${batch});
      commit;
      exit when got = 0;
      perform pgque.ack(batch);
      finished := finished + got;
      commit;
    end loop;
  end
  $$`;
