import type pg from "pg";
import type { Receive, RunningSystem } from "../../adapters/adapter.ts";
import { systemNamed } from "../../adapters/registry.ts";
import { rowsIn } from "../../adapters/support/pg-store.ts";
import { openDatabase } from "../../runner/server.ts";
import { Background } from "../../load/background.ts";
import { receiveOnce } from "../../load/load.ts";
import type { CallTimes } from "../../load/saturate.ts";
import { randomPayloads } from "../../load/messages.ts";
import { saturate, timesOf, type Caller } from "../../load/saturate.ts";
import { Tally } from "../../load/tally.ts";
import { startCpuUse, serverCpu } from "../../measure/processes.ts";
import { createPgstattuple, deadTuplesIn, flushStatistics, walPosition } from "../../measure/relations.ts";
import type { StepContext } from "../../runner/scenario.ts";
import type { ThroughputPlan, ThroughputSettings } from "./plan.ts";

/** What was measured, the warm-up left out. Null: could not be. */
export interface ThroughputFigures {
  /** Sent, or received and finished. */
  messagesPerSecond: number;
  messages: number;
  seconds: number;
  /** Of all of PostgreSQL's processes. */
  serverCpuSecondsPerThousand: number | null;
  /** Of the harness, which is the client. */
  clientCpuSecondsPerThousand: number;
  walBytesPerMessage: number;
  /** Over all tables of the system's schema, TOAST included, when all is over; the warm-up and the sending of a backlog leave theirs too. */
  deadTuples: number;
  deadTuplesFrom: "pgstattuple" | "statistics";
  calls: CallTimes | null;
}

/** What a load is given: a fresh database with the system set up in it. */
interface Site {
  plan: ThroughputPlan;
  admin: pg.Client;
  /** Where the system keeps everything. */
  schema: string;
  running: RunningSystem;
  tally: Tally;
  settings: ThroughputSettings;
  signal: AbortSignal;
}

/** A load that is ready to be measured. */
interface Work {
  /** As fast as it goes, until there is nothing left or time is up. */
  run(signal: AbortSignal): ReturnType<typeof saturate>;
  /** Messages so far. */
  messages(): number;
  /** Throws when the count cannot be true. */
  check(): Promise<void>;
}

/** Counts alone: nobody asks for the latency of a backlog, and its histogram would be a good part of the client's work. */
class CountingTally extends Tally {
  override received(): void {}
}

/** One load on one system. Throws when its figures cannot be used. */
export async function measureThroughput(
  plan: ThroughputPlan,
  { server, settings, signal, note }: StepContext<ThroughputSettings>,
): Promise<ThroughputFigures> {
  const system = systemNamed(plan.system);
  const { schema } = system;
  if (schema === null) throw new Error(`expected a system in PostgreSQL, got: ${plan.system}`);
  const database = await openDatabase(server, settings.synchronousCommit);
  let running: RunningSystem | undefined;
  try {
    note("set-up");
    const { clients, connect, url } = database;
    const admin = await connect("admin");
    const exact = await createPgstattuple(admin);
    const tally = new CountingTally();
    running = await system.open({
      ...settings,
      admin,
      connect,
      url,
      tally,
      producers: plan.kind === "send" ? plan.clients : 1,
      consumers: plan.kind === "send" ? 0 : plan.clients,
      batch: plan.perCall,
      sendBatch: plan.perCall,
      rotation: null,
    });
    const site = { plan, admin, schema, running, tally, settings, signal };
    // what setting up has left behind is not the load's
    await flushStatistics(clients, server.major);
    await admin.query("vacuum analyze");
    await server.checkpoint();
    note(plan.kind === "send" ? "warm-up" : "backlog");
    const work = await (plan.kind === "send" ? sending(site) : receiving(site));
    note("measured");
    const figures = await measured(site, work);
    await work.check();
    await flushStatistics(clients, server.major);
    const { total } = await deadTuplesIn(admin, schema, exact);
    return { ...figures, deadTuples: total, deadTuplesFrom: exact ? "pgstattuple" : "statistics" };
  } finally {
    await running?.close?.().catch(() => undefined);
    await database.close();
  }
}

/** Runs the work, and beside it the maintenance that belongs to the system. */
async function measured(
  { admin, running: { maintain, maintainSeconds = 1 }, plan, signal }: Site,
  work: Work,
): Promise<Omit<ThroughputFigures, "deadTuples" | "deadTuplesFrom">> {
  const messagesBefore = work.messages();
  const walBefore = await walPosition(admin);
  const cpu = await startCpuUse(await serverCpu(admin));
  const beside = new Background(signal);
  if (maintain) beside.every(maintainSeconds, maintain);
  const startMs = performance.now();
  let tasks: Awaited<ReturnType<Work["run"]>>;
  let seconds: number;
  try {
    tasks = await work.run(beside.signal);
    seconds = (performance.now() - startMs) / 1000;
  } finally {
    await beside.stop();
  }
  const { serverCpuSeconds, harnessCpuSeconds } = await cpu.used();
  const walBytes = (await walPosition(admin)) - walBefore;
  const messages = work.messages() - messagesBefore;
  if (messages === 0) throw new Error(`expected messages to ${plan.kind} within ${seconds.toFixed(1)} s, got none`);
  const perThousand = (value: number): number => (value / messages) * 1000;
  return {
    messagesPerSecond: messages / seconds,
    messages,
    seconds,
    serverCpuSecondsPerThousand: serverCpuSeconds === null ? null : perThousand(serverCpuSeconds),
    clientCpuSecondsPerThousand: perThousand(harnessCpuSeconds),
    walBytesPerMessage: walBytes / messages,
    calls: timesOf(tasks, plan.kind),
  };
}

/** Every client sends again as soon as its last send has returned. Nobody receives. */
async function sending({ plan, running, tally, settings, signal, admin, schema }: Site): Promise<Work> {
  const nextPayloads = payloadsInTurn(plan);
  const callers = running.send.map((send, index): Caller => ({
    name: `send ${index + 1}`,
    async call() {
      await send(nextPayloads());
      tally.sent(plan.perCall);
    },
  }));
  await saturate(callers, settings.warmupSeconds, signal);
  return {
    run: (until) => saturate(callers, settings.seconds, until),
    messages: () => tally.enqueued,
    async check() {
      const stored = await rowsOf(admin, schema);
      if (stored < tally.enqueued)
        throw new Error(`invalid: ${tally.enqueued} messages sent, but only ${stored} rows stored`);
    },
  };
}

/** At least a thousand different ones, made before: to make them is no part of a send. */
function payloadsInTurn({ perCall, payloadBytes }: ThroughputPlan): () => string[] {
  const payloads = randomPayloads(Math.max(perCall, 1000), payloadBytes);
  let next = 0;
  return () => {
    if (perCall === payloads.length) return payloads;
    if (next + perCall > payloads.length) next = 0;
    next += perCall;
    return payloads.slice(next - perCall, next);
  };
}

/** In all tables of the system together: at least one for each message. */
async function rowsOf(admin: pg.Client, schema: string): Promise<number> {
  const { rows } = await admin.query<{ name: string }>(
    "select oid::regclass::text as name from pg_class where relnamespace = $1::regnamespace and relkind = 'r'",
    [schema],
  );
  let sum = 0;
  for (const { name } of rows) sum += await rowsIn(admin, name);
  return sum;
}

/** A backlog, and consumers that receive and finish one batch after the other until it is gone. Nobody sends any more. */
async function receiving(site: Site): Promise<Work> {
  const { running, plan, tally, settings, admin, signal } = site;
  if (running.consumers.kind !== "pulled") throw new Error(`expected consumers that are pulled, got: ${plan.system}`);
  const { receive: consumers } = running.consumers;
  // one call of each consumer warms it up
  await preload(site, (plan.backlog ?? 0) + plan.perCall * consumers.length);
  await admin.query("vacuum analyze");
  const empty = new AbortController();
  const callers = consumers.map((receive, index): Caller => ({
    name: `receive ${index + 1}`,
    async call() {
      const took = await receiveOnce(settings, receive, signal);
      if (tally.depth <= 0) empty.abort();
      return took;
    },
  }));
  for (const receive of consumers) await firstBatch(site, receive);
  return {
    run: (until) => saturate(callers, settings.seconds, until, empty.signal),
    messages: () => tally.dequeued,
    async check() {
      const { dequeued, enqueued } = tally;
      if (dequeued > enqueued) throw new Error(`invalid: ${dequeued} messages finished, but only ${enqueued} sent`);
    },
  };
}

/** Sent in batches as they are to be received, each followed by maintenance: a system that batches by time makes one of each. */
async function preload({ running, plan, tally, signal }: Site, messages: number): Promise<void> {
  const payloads = randomPayloads(plan.perCall, plan.payloadBytes);
  while (tally.enqueued < messages) {
    signal.throwIfAborted();
    await running.send[0]?.(payloads);
    tally.sent(payloads.length);
    await running.maintain?.();
  }
}

/** A system whose batches come with time may have none yet. */
async function firstBatch({ settings, running, tally, signal }: Site, receive: Receive): Promise<void> {
  const endMs = performance.now() + settings.seconds * 1000;
  const before = tally.dequeued;
  while (tally.dequeued === before && performance.now() < endMs) {
    signal.throwIfAborted();
    await receiveOnce(settings, receive, signal);
    await running.maintain?.();
  }
}
