import { EventEmitter, once } from "node:events";
import { setInterval, setTimeout as sleep } from "node:timers/promises";
import type { Store } from "../../adapters/adapter.ts";
import { drainSystems, named } from "../../adapters/registry.ts";
import { handledWrongly, numbered } from "../../load/messages.ts";
import { startCpuUse } from "../../measure/processes.ts";
import { growthOf, type Growth } from "../../measure/statistics.ts";
import { walPosition } from "../../measure/relations.ts";
import { Child } from "../../runner/child.ts";
import type { SystemPlan } from "../../runner/trials.ts";
import type { StepContext } from "../../runner/scenario.ts";
import type { DrainMethods, DrainNote, DrainUse, MemorySample } from "./process.ts";

/** One system with so many processes, before it is measured. */
export interface DrainPlan extends SystemPlan {
  processes: number;
}

/** What is drained. */
export interface DrainLoad {
  messages: number;
  /** Messages that are sent before the start; the rest follows, so that there are always about as many more than were handled. */
  ahead: number;
  /** Sample the memory of the first process. */
  memory: boolean;
  synchronousCommit: "on" | "off";
}

/** What was measured. Null: could not be. */
export interface DrainFigures {
  messagesPerSecond: number;
  /** From the start signal until the last message was settled. */
  seconds: number;
  /** Of the server that holds the queue: all PostgreSQL's processes, or Redis. */
  serverCpuSecondsPerThousand: number | null;
  /** Of all worker processes. */
  clientCpuSecondsPerThousand: number;
  /** Of whatever else ran on the machine meanwhile, the harness aside. */
  otherCpuSeconds: number | null;
  /** Of the process that had most. */
  rssBytesMax: number;
  /** Null for a queue in another server. */
  walBytesPerMessage: number | null;
  /** Of the first process; null unless memory was sampled. */
  growth: Growth | null;
}

/** Between two looks whether the last message is settled. */
const lookMs = 5;

/** Nothing is handled, or settled, for so long: it never will be. */
const patienceMs = 60_000;

/** Between two samples of memory. */
const sampleMs = 1000;

/** Messages in one send. */
const inOneCall = 10_000;

/** Drains a queue made for it, which it removes. Throws when not every message was handled once and settled. */
export async function measureDrain(
  { system, processes }: DrainPlan,
  { server, settings, signal, note }: StepContext<DrainLoad>,
): Promise<DrainFigures> {
  const { messages, memory } = settings;
  const store = await named(drainSystems, system).makeStore({ ...settings, server });
  const fleet = new Fleet(processes, memory);
  try {
    note("send");
    const fill = filling(store, settings, signal);
    await fill(0);
    await store.settleDown?.();
    await fleet.open({ system, url: store.url, messages }, signal);
    note("drain");
    return await drain(store, fleet, fill, settings, signal);
  } finally {
    await fleet.close();
    await store.close();
  }
}

async function drain(
  store: Store,
  fleet: Fleet,
  fill: ReturnType<typeof filling>,
  { messages, ahead, memory }: DrainLoad,
  signal: AbortSignal,
): Promise<DrainFigures> {
  const walBefore = store.admin === null ? null : await walPosition(store.admin);
  const cpu = await startCpuUse(store.cpu);
  const startMs = performance.now();
  await fleet.start();
  const keepAhead = async (): Promise<void> => {
    for (let sent = await fill(0); sent < messages; sent = await fill(fleet.handledNow))
      await fleet.handled(sent - ahead + inOneCall, signal);
  };
  const sampled = memory ? fleet.sampleMemory() : null;
  await Promise.all([keepAhead(), fleet.handled(messages, signal)]);
  await settled(store, signal);
  const seconds = (performance.now() - startMs) / 1000;
  const used = await cpu.used();
  const uses = await fleet.use();
  const walBytes = store.admin === null || walBefore === null ? null : (await walPosition(store.admin)) - walBefore;
  const samples = await sampled?.end();
  const wrong = handledWrongly(messages, await fleet.stop());
  if (wrong !== null) throw new Error(wrong);
  const clientSeconds = uses.reduce((sum, { cpuSeconds }) => sum + cpuSeconds, 0);
  const perThousand = (value: number): number => (value / messages) * 1000;
  return {
    messagesPerSecond: messages / seconds,
    seconds,
    serverCpuSecondsPerThousand: used.serverCpuSeconds === null ? null : perThousand(used.serverCpuSeconds),
    clientCpuSecondsPerThousand: perThousand(clientSeconds),
    otherCpuSeconds: used.otherCpuSeconds === null ? null : Math.max(0, used.otherCpuSeconds - clientSeconds),
    rssBytesMax: Math.max(...uses.map(({ rssBytesMax }) => rssBytesMax)),
    walBytesPerMessage: walBytes === null ? null : walBytes / messages,
    growth: samples === undefined ? null : growthOf(samples),
  };
}

/** Sends until there are as many more than were handled as are to be ahead, or all; how many were sent so far. */
function filling(
  store: Store,
  { messages, ahead }: DrainLoad,
  signal: AbortSignal,
): (handled: number) => Promise<number> {
  let sent = 0;
  return async (handled) => {
    while (sent < Math.min(messages, handled + ahead)) {
      signal.throwIfAborted();
      const count = Math.min(inOneCall, messages - sent);
      await store.send(numbered(sent, count));
      sent += count;
    }
    return sent;
  };
}

/** What is handled is not yet known to be: the time ends when it is. */
async function settled(store: Store, signal: AbortSignal): Promise<void> {
  let least = Number.POSITIVE_INFINITY;
  let sinceMs = performance.now();
  for (;;) {
    const left = await store.unsettled();
    if (left === 0) return;
    if (left < least) [least, sinceMs] = [left, performance.now()];
    if (performance.now() - sinceMs > patienceMs)
      throw new Error(`expected every message to be settled, ${left} are not`);
    await sleep(lookMs, undefined, { signal });
  }
}

/** The worker processes of one trial. */
class Fleet {
  readonly #children: Child<DrainMethods>[];
  readonly #handled: number[];
  readonly #progress = new EventEmitter();
  readonly #failed: Promise<never>;

  constructor(processes: number, collectsGarbage: boolean) {
    this.#handled = Array.from({ length: processes }, () => 0);
    const module = new URL("./process.js", import.meta.url);
    this.#children = this.#handled.map(
      (_, index) =>
        new Child(
          module,
          (note) => {
            this.#handled[index] = (note as DrainNote).handled;
            this.#progress.emit("handled");
          },
          collectsGarbage ? ["--expose-gc"] : [],
        ),
    );
    this.#failed = Promise.race(this.#children.map(({ failed }) => failed)).then((error) => {
      throw error;
    });
    // whoever waits at that time hears of it; nobody need
    this.#failed.catch(() => undefined);
  }

  /** By all processes together, as far as they have told. */
  get handledNow(): number {
    return this.#handled.reduce((sum, one) => sum + one, 0);
  }

  /** Resolves when every process is connected and ready. */
  async open(argument: Parameters<DrainMethods["open"]>[0], signal: AbortSignal): Promise<void> {
    await this.#each((child) => child.call("open", argument));
    signal.throwIfAborted();
  }

  async start(): Promise<void> {
    await this.#each((child) => child.call("start"));
  }

  /** Resolves when so many were handled. Rejects when a process ends, or nothing is handled any more. */
  async handled(messages: number, signal: AbortSignal): Promise<void> {
    while (this.handledNow < messages) {
      const late = AbortSignal.timeout(patienceMs);
      const next = once(this.#progress, "handled", { signal: AbortSignal.any([signal, late]) });
      try {
        await Promise.race([next, this.#failed]);
      } catch (error) {
        if (!late.aborted || signal.aborted) throw error;
        throw new Error(`expected ${messages} messages to be handled, after ${this.handledNow} no more were`, {
          cause: error,
        });
      }
    }
  }

  /** Samples the memory of the first process until it is ended, which returns the samples. */
  sampleMemory(): { end(): Promise<MemorySample[]> } {
    const [first] = this.#children;
    const stop = new AbortController();
    const samples: MemorySample[] = [];
    const sampled = (async () => {
      for await (const _ of setInterval(sampleMs, undefined, { signal: stop.signal })) {
        if (first) samples.push(await first.call("memory"));
      }
    })().catch(() => undefined);
    return {
      async end() {
        stop.abort();
        await sampled;
        return samples;
      },
    };
  }

  /** What each used since the start. */
  use(): Promise<DrainUse[]> {
    return this.#each((child) => child.call("use"));
  }

  /** What each was given. */
  stop(): Promise<{ bits: Uint8Array; again: number }[]> {
    return this.#each((child) => child.call("stop"));
  }

  async close(): Promise<void> {
    await Promise.all(this.#children.map((child) => child.stop()));
  }

  #each<T>(act: (child: Child<DrainMethods>) => Promise<T>): Promise<T[]> {
    return Promise.all(this.#children.map(act));
  }
}
