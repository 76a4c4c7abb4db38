import type pg from "pg";
import { openDatabase } from "../database.ts";
import { walPosition } from "../measure/wal-position.ts";
import { Background } from "../load/background.ts";
import { timesOf, type saturate } from "../load/saturate.ts";
import { Tally } from "../load/tally.ts";
import { CpuUse } from "../measure/cpu-use.ts";
import { createPgstattuple, deadTuplesIn } from "../measure/dead-tuples.ts";
import { flushStatistics } from "../measure/relations.ts";
import { ServerCpu } from "../measure/server-cpu.ts";
import { systemNamed } from "../adapters/registry.ts";
import type { StepContext } from "../scenario/scenario.ts";
import type { RunningSystem } from "../adapters/adapter.ts";
import { receiving } from "./receiving.ts";
import { sending } from "./sending.ts";
import type { ThroughputFigures, ThroughputPlan } from "./throughput-results.ts";
import type { ThroughputSettings } from "./throughput-settings.ts";

/** What a load is given: a fresh database with the system set up in it. */
export interface Site {
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
export interface Work {
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
  const cpu = await CpuUse.start(await ServerCpu.of(admin));
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
