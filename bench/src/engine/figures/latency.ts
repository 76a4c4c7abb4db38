import { setTimeout as sleep } from "node:timers/promises";
import { defineQueue, Pgque } from "@pgque/client";
import { Worker } from "@pgque/worker";
import { dueOf } from "../../load/payload.ts";
import { Latencies, type LatencySummary } from "../../measure/histogram.ts";
import { ms, whole } from "../../report/format.ts";
import { consumerName, queue as queueName } from "../../adapters/support/pgque-queue.ts";
import { atMost } from "../../scenario/target.ts";
import { defineFigure, type FigureContext } from "./figure.ts";
import { payload, withQueue } from "./queue.ts";

const queue = defineQueue(queueName);

/** Idle in between: the wait after a message is at least this long, and at most three times as long. */
const pauseMs = 10;

/** What the last message is given to arrive. */
const patienceMs = 10_000;

/** Messages of each round that do not count: connections are opened and statements compiled. */
const warmUp = 10;

/** After each round. */
const roundTrips = 30;

type Commit = "on" | "off";

export const latency = defineFigure({
  name: "latency",
  statement:
    "end to end with an idle @pgque/worker on loopback: from before the call of send until its handler has the message",
  method: [
    "one message at a time, 10 to 30 ms at random after the last: about 50 a second; sender and worker are in one process and share a pool",
    "the worker has its defaults and is woken by NOTIFY; statements are prepared",
    "round trip: select 1 on the same pool with the same pauses, after each round: what the machine takes to wake two processes that sleep",
    "rounds in turn with synchronous_commit as the run has it, and off for sender and worker; HDR histogram in microseconds",
  ],
  sizes: { full: { rounds: 2, seconds: 20 }, quick: { rounds: 1, seconds: 5 } },
  values: {
    p50: { label: "p50", format: ms, target: atMost(1, ms) },
    p95: { label: "p95", format: ms },
    p99: { label: "p99", format: ms, target: atMost(5, ms) },
    max: { label: "max", format: ms },
    messages: { label: "messages", format: whole },
    roundTripP50: { label: "round trip, p50", format: ms },
    roundTripP99: { label: "round trip, p99", format: ms },
    p50Off: { label: "synchronous_commit off, p50", format: ms },
    p95Off: { label: "synchronous_commit off, p95", format: ms },
    p99Off: { label: "synchronous_commit off, p99", format: ms },
    maxOff: { label: "synchronous_commit off, max", format: ms },
    messagesOff: { label: "synchronous_commit off, messages", format: whole },
  },
  async measure(context, { rounds, seconds }) {
    return withQueue(context, {}, async ({ url }) => {
      const own = new Rounds();
      const off = new Rounds();
      for (let n = 0; n < rounds; n++) {
        await own.run(context, url, context.synchronousCommit, seconds);
        await off.run(context, url, "off", seconds);
      }
      const [onRun, offRun] = [own.summary(), off.summary()];
      return {
        ...pick(onRun),
        messages: own.handled,
        roundTripP50: own.roundTrips?.p50 ?? null,
        roundTripP99: own.roundTrips?.p99 ?? null,
        p50Off: offRun.p50,
        p95Off: offRun.p95,
        p99Off: offRun.p99,
        maxOff: offRun.max,
        messagesOff: off.handled,
      };
    });
  },
});

const pick = ({ p50, p95, p99, max }: LatencySummary): Pick<LatencySummary, "p50" | "p95" | "p99" | "max"> => ({
  p50,
  p95,
  p99,
  max,
});

const pause = (signal: AbortSignal): Promise<void> =>
  sleep(pauseMs + Math.random() * 2 * pauseMs, undefined, { signal });

/** All rounds with one synchronous_commit. */
class Rounds {
  readonly #latencies = new Latencies();
  readonly #roundTrips = new Latencies();
  #sent = 0;
  #seen = 0;
  handled = 0;

  async run({ signal, note }: FigureContext, url: string, commit: Commit, seconds: number): Promise<void> {
    note(`synchronous_commit ${commit}`);
    [this.#sent, this.#seen] = [0, 0];
    await using pgque = new Pgque(
      { connectionString: url, max: 8, options: `-c synchronous_commit=${commit}` },
      { prepare: true },
    );
    await using worker = new Worker(pgque, queue, ({ payload }) => this.#handle(payload), { consumer: consumerName });
    await worker.start();
    const sendOne = async (): Promise<void> => {
      await pause(signal);
      this.#sent += 1;
      await pgque.send(queue, JSON.parse(payload()));
    };
    while (this.#sent < warmUp) await sendOne();
    const endMs = performance.now() + seconds * 1000;
    while (performance.now() < endMs) await sendOne();
    await this.#arrived(signal);
    for (let n = 0; n < roundTrips; n++) {
      await pause(signal);
      const startMs = performance.now();
      await pgque.pool.query({ name: "nothing", text: "select 1" });
      this.#roundTrips.record(performance.now() - startMs);
    }
  }

  #handle(payload: unknown): void {
    this.#seen += 1;
    if (this.#seen <= warmUp) return;
    this.#latencies.record(performance.now() - dueOf(payload));
    this.handled += 1;
  }

  async #arrived(signal: AbortSignal): Promise<void> {
    const endMs = performance.now() + patienceMs;
    while (this.#seen < this.#sent) {
      if (performance.now() > endMs) {
        throw new Error(`${this.#sent - this.#seen} of ${this.#sent} messages did not arrive`);
      }
      await sleep(10, undefined, { signal });
    }
  }

  get roundTrips(): LatencySummary | null {
    return this.#roundTrips.summary();
  }

  summary(): LatencySummary {
    const summary = this.#latencies.summary();
    if (summary === null) throw new Error("no message was sent");
    return summary;
  }
}
