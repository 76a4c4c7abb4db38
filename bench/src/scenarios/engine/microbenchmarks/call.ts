import { setTimeout as sleep } from "node:timers/promises";
import { defineQueue, Pgque } from "@pgque/client";
import { done, Worker } from "@pgque/worker";
import { consumerName, queue as queueName } from "../../../adapters/support/pgque-queue.ts";
import { Latencies } from "../../../measure/histogram.ts";
import { ms, whole } from "../../../report/format.ts";
import { atMost } from "../../../runner/target.ts";
import { defineMicrobenchmark, timed } from "../microbenchmark.ts";
import { withQueue } from "../queue.ts";

const queue = defineQueue(queueName);

/** Idle in between: the wait after a message is at least this long, and at most three times as long. */
const pauseMs = 10;

/** Calls and sends that do not count: connections are opened and statements compiled. */
const warmUp = 10;

export const call = defineMicrobenchmark({
  name: "call",
  statement: "a call of an idle @pgque/worker on loopback, whose handler answers at once, against a send",
  method: [
    "sends and calls in turn, 10 to 30 ms at random after the last; all in one process, with the defaults of client and worker",
    "send: until the statement has committed. call: until the result has been read, which is a send, a wake-up, a receive, a settle, a notification and a read",
    "more than a send: the difference of the medians, since the handler takes no time",
  ],
  sizes: { full: { pairs: 1000 }, quick: { pairs: 150 } },
  async measure(context, { pairs }) {
    return withQueue(context, {}, async ({ url }) => {
      const [sends, calls] = [new Latencies(), new Latencies()];
      await using pgque = new Pgque({ connectionString: url, max: 8 });
      await using worker = new Worker(pgque, queue, ({ payload }) => done(payload), { consumer: consumerName });
      await worker.start();
      const pause = (): Promise<void> =>
        sleep(pauseMs + Math.random() * 2 * pauseMs, undefined, { signal: context.signal });
      const answer = async (n: number): Promise<void> => {
        const result = await pgque.call(queue, n, { consumer: consumerName });
        if (result !== n) throw new Error(`expected a call to return ${n}, got: ${String(result)}`);
      };
      for (let n = 0; n < pairs + warmUp; n++) {
        const [send, reply] = n < warmUp ? [new Latencies(), new Latencies()] : [sends, calls];
        await pause();
        await timed(send, () => pgque.send(queue, n));
        await pause();
        await timed(reply, () => answer(n));
      }
      return { send: sends.summary(), call: calls.summary(), pairs };
    });
  },
  values: {
    moreP50: [
      "call, more than a send, p50",
      ms,
      ({ send, call }) => (send && call ? call.p50 - send.p50 : undefined),
      atMost(3, ms),
    ],
    sendP50: ["send, p50", ms, ({ send }) => send?.p50],
    callP50: ["call, p50", ms, ({ call }) => call?.p50],
    callP99: ["call, p99", ms, ({ call }) => call?.p99],
    calls: ["calls", whole, ({ pairs }) => pairs],
  },
});
