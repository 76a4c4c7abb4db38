import { rawTable } from "../../adapters/controls.ts";
import type { OpenSender, SendSite } from "../../adapters/adapter.ts";
import { senderNamed } from "../../adapters/registry.ts";
import { openPool } from "../../adapters/support/pg-store.ts";
import { createQueue } from "../../adapters/support/pgque-queue.ts";
import { closing } from "../../runner/failure.ts";
import { openDatabase } from "../../runner/server.ts";
import { meanBytes, orders, type Order } from "../../load/messages.ts";
import { saturate } from "../../load/saturate.ts";
import { startCpuUse, serverCpu, type CpuClock } from "../../measure/processes.ts";
import { Latencies, type LatencySummary } from "../../measure/histogram.ts";
import { walPosition } from "../../measure/relations.ts";
import type { Trial } from "../../runner/trials.ts";
import { inTurn } from "../../runner/in-turn.ts";
import type { StepContext } from "../../runner/scenario.ts";
import type { SendPlan, SendSettings } from "./plan.ts";

/** What was measured. Null: could not be. */
export interface SendFigures {
  messagesPerSecond: number;
  /** Bytes of the JSON of one payload, on average. */
  payloadBytesMean: number;
  seconds: number;
  sent: number;
  /** Of the server that stores the messages: all PostgreSQL's processes, or Redis. */
  serverCpuSecondsPerThousand: number | null;
  /** Of this process, which does nothing but send. */
  clientCpuSecondsPerThousand: number;
  /** Of whatever else ran on the machine meanwhile. */
  otherCpuSeconds: number | null;
  /** How much of the time the client's one thread was busy, 0 to 1. */
  clientBusy: number;
  /** Null for a sender to another server. */
  walBytesPerMessage: number | null;
  /** How long one call took. */
  callMs: LatencySummary | null;
}

/** Measures the trials of one load, in short rounds in turn. Throws when it is stopped. */
export async function measureSends(
  plans: SendPlan[],
  { server, settings, signal }: StepContext<SendSettings>,
): Promise<Trial<SendPlan, SendFigures>[]> {
  const { seconds, roundSeconds, warmupSeconds } = settings;
  const rounds = Math.max(1, Math.round(seconds / roundSeconds));
  const trials = await inTurn<SendPlan, SendWork, SendFigures>(
    plans,
    {
      open: (plan) => openWork(server, plan, settings),
      opened: () => server.checkpoint(),
      warmUp: (work) => work.round(warmupSeconds, false, signal),
      rounds,
      round: (work) => work.round(seconds / rounds, true, signal),
      figures: (work) => work.figures(),
    },
    signal,
  );
  return trials.map((trial) => ({ ...trial, postgres: server.version }));
}

/** Different payloads that a trial of the group `one` sends in turn. */
const payloadsInTurn = 1000;

/** One sender under one load in a database of its own, and what its rounds came to. */
class SendWork {
  readonly #messages: number;
  readonly #site: SendSite;
  readonly #sender: OpenSender;
  readonly #cpu: CpuClock | null;
  readonly #latencies = new Latencies();
  #stored = 0;
  #sum = { sent: 0, seconds: 0, server: 0, client: 0, other: 0, busySeconds: 0, walBytes: 0 };

  constructor(messages: number, site: SendSite, sender: OpenSender, cpu: CpuClock | null) {
    this.#messages = messages;
    this.#site = site;
    this.#sender = sender;
    this.#cpu = cpu;
  }

  /** Sends for so long; what does not count only warms up. */
  async round(seconds: number, counts: boolean, signal: AbortSignal): Promise<void> {
    const walBefore = await walPosition(this.#site.admin);
    const cpu = await startCpuUse(this.#cpu);
    const startMs = performance.now();
    const sent = await this.#sendFor(seconds, counts, signal);
    const elapsed = (performance.now() - startMs) / 1000;
    const used = await cpu.used();
    const walBytes = (await walPosition(this.#site.admin)) - walBefore;
    this.#stored += sent;
    if (!counts) return;
    const sum = this.#sum;
    this.#sum = {
      sent: sum.sent + sent,
      seconds: sum.seconds + elapsed,
      server: sum.server + (used.serverCpuSeconds ?? 0),
      client: sum.client + used.harnessCpuSeconds,
      other: sum.other + (used.otherCpuSeconds ?? 0),
      busySeconds: sum.busySeconds + used.harnessBusy * elapsed,
      walBytes: sum.walBytes + walBytes,
    };
  }

  /** Of all rounds that count. Throws when not everything that was sent is there. */
  async figures(): Promise<SendFigures> {
    const stored = await this.#sender.stored();
    if (stored !== this.#stored) throw new Error(`expected ${this.#stored} messages to be stored, found ${stored}`);
    const { sent, seconds, server, client, other, busySeconds, walBytes } = this.#sum;
    const perThousand = (value: number): number => (value / sent) * 1000;
    return {
      messagesPerSecond: sent / seconds,
      payloadBytesMean: meanBytes(this.#site.payloads),
      seconds,
      sent,
      serverCpuSecondsPerThousand: this.#cpu === null ? null : perThousand(server),
      clientCpuSecondsPerThousand: perThousand(client),
      otherCpuSeconds: this.#cpu === null ? null : other,
      clientBusy: busySeconds / seconds,
      walBytesPerMessage: this.#sender.server === undefined ? walBytes / sent : null,
      callMs: this.#latencies.summary(),
    };
  }

  /** Every connection has one call under way at a time. Returns how many messages were sent. */
  async #sendFor(seconds: number, counts: boolean, signal: AbortSignal): Promise<number> {
    const { payloads, connections } = this.#site;
    let sent = 0;
    const next = (): readonly Order[] => {
      const start = sent % payloads.length;
      return this.#messages === payloads.length ? payloads : payloads.slice(start, start + this.#messages);
    };
    const call = async (): Promise<void> => {
      const batch = next();
      sent += batch.length;
      const startMs = performance.now();
      await this.#sender.send(batch);
      if (counts) this.#latencies.record(performance.now() - startMs);
    };
    await saturate(
      Array.from({ length: connections }, (_, index) => ({ name: `send ${index + 1}`, call })),
      seconds,
      signal,
    );
    return sent;
  }
}

/**
 * Works in a database, or a Redis, made for it, which it removes.
 *
 * @throws NotRun when something that the sender needs is not installed
 */
async function openWork(
  server: StepContext<unknown>["server"],
  plan: SendPlan,
  { synchronousCommit }: SendSettings,
): Promise<{ work: SendWork; close(): Promise<void> }> {
  const opened: { close?(): Promise<void> }[] = [];
  const close = (): Promise<void> => closing(...opened.toReversed().map((one) => async () => one.close?.()))();
  try {
    const database = await openDatabase(server, synchronousCommit);
    opened.push(database);
    const pool = openPool(database.url, plan.connections);
    opened.push({ close: () => pool.end() });
    const admin = await database.connect("admin");
    await createQueue(admin, {});
    await admin.query(rawTable);
    const payloads = orders(Math.max(plan.messages, payloadsInTurn), plan.payloadBytes);
    const site: SendSite = { admin, pool, connections: plan.connections, payloads };
    const sender = await senderNamed(plan.group, plan.system).open(site);
    opened.push(sender);
    const cpu = sender.server ?? (await serverCpu(admin));
    return { work: new SendWork(plan.messages, site, sender, cpu), close };
  } catch (error) {
    await close();
    throw error;
  }
}
