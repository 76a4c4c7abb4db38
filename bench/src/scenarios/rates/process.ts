import type { OpenWorker } from "../../adapters/adapter.ts";
import { named, ratesSystems } from "../../adapters/registry.ts";
import type { Numbered } from "../../load/messages.ts";
import { Ticker, nowMs } from "../../measure/ticker.ts";
import { serve } from "../../runner/serve.ts";

/** What the process used until now. */
export interface Use {
  cpuSeconds: number;
  /** Null where it cannot be seen. */
  receives: number | null;
}

/** What the last message is given to arrive. */
const patienceMs = 60_000;

let worker: OpenWorker;
/** By number, on the clock that all processes share: when the sender had the answer of its commit. */
const committedAtMs: number[] = [];
/** When the handler began; the first time counts. */
const handledAtMs: number[] = [];
let handled = 0;
let again = 0;
let reached = { count: Infinity, resolve: (): void => undefined };

function handle({ n }: Numbered): void {
  if (handledAtMs[n] === undefined) handled += 1;
  else again += 1;
  handledAtMs[n] ??= nowMs();
  if (handled >= reached.count) reached.resolve();
}

async function send(): Promise<void> {
  const n = committedAtMs.push(0) - 1;
  await worker.send({ n });
  committedAtMs[n] = nowMs();
}

/** Of both processes: one sends, the other has the workers. */
const methods = {
  async open({ system, url, workers }: { system: string; url: string; workers: number }): Promise<void> {
    worker = await named(ratesSystems, system).connect(url, handle, workers);
  },
  start: (): Promise<void> => worker.start(),
  /** So many at a steady rate, whatever became of those before. */
  async pace({ messagesPerSecond, messages }: { messagesPerSecond: number; messages: number }): Promise<void> {
    const ticker = new Ticker();
    const sends: Promise<void>[] = [];
    const ticks = { startMs: nowMs(), everyMs: 1000 / messagesPerSecond, count: messages };
    await ticker.run(ticks, () => void sends.push(send()));
    await Promise.all(sends);
    await ticker.stop();
  },
  /** As fast as so many senders can, one message after the other. */
  async saturate({ seconds, senders }: { seconds: number; senders: number }): Promise<void> {
    const endMs = nowMs() + seconds * 1000;
    const loop = async (): Promise<void> => {
      while (nowMs() < endMs) await send();
    };
    await Promise.all(Array.from({ length: senders }, loop));
  },
  committed: (): number[] => committedAtMs,
  /** When each was handled; resolves once that many were. */
  async handled(count: number): Promise<number[]> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    reached = { count, resolve };
    if (handled >= count) resolve();
    const expected = (): void => reject(new Error(`expected ${count} messages to be handled, ${handled} were`));
    const timer = setTimeout(expected, patienceMs);
    await promise.finally(() => clearTimeout(timer));
    return handledAtMs;
  },
  use(): Use {
    const { user, system } = process.cpuUsage();
    return { cpuSeconds: (user + system) / 1_000_000, receives: worker.receives?.() ?? null };
  },
  async stop(): Promise<void> {
    await worker.stop();
    if (again > 0) throw new Error(`expected every message to be handled once, ${again} came again`);
  },
};

export type RatesMethods = typeof methods;

serve(methods);
