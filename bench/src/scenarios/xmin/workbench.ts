import type pg from "pg";
import type { RunningSystem, System } from "../../adapters/adapter.ts";
import { openDatabase, type Server } from "../../runner/server.ts";
import type { HorizonContext } from "../../horizons/horizon.ts";
import { Background } from "../../load/background.ts";
import type { Load } from "../../load/load.ts";
import { Tally } from "../../load/tally.ts";
import { bystand, createBystanderTable } from "../../measure/bystander.ts";
import { type CpuClock, startCpuUse, type CpuUsed, serverCpu, sumOfCpu } from "../../measure/processes.ts";
import { createPgstattuple, flushStatistics } from "../../measure/relations.ts";
import { Latencies, type LatencySummary } from "../../measure/histogram.ts";
import { Sampler, type Sample } from "../../measure/sampler.ts";
import type { Settings } from "./settings.ts";

/** One trial's fresh database with everything set up in it and nothing running yet. */
export interface Workbench {
  admin: pg.Client;
  bystanders: pg.Client[];
  /** Every connection that counts into the statistics. */
  clients: pg.Client[];
  connect(role: string): Promise<pg.Client>;
  /** What a horizon is given. */
  site: HorizonContext;
  system: RunningSystem;
  load: Load;
  sampler: Sampler;
  /** Of every server that the system uses. */
  serverCpu: CpuClock | null;
  /** Whether dead tuples can be counted exactly. */
  pgstattuple: boolean;
  close(): Promise<void>;
}

export async function openWorkbench(server: Server, system: System, settings: Settings): Promise<Workbench> {
  const database = await openDatabase(server, settings.synchronousCommit);
  const { clients, connect, connectApart, url } = database;
  const close = async (running?: RunningSystem): Promise<void> => {
    await running?.close?.().catch(() => undefined);
    await database.close();
  };
  try {
    const admin = await connect("admin");
    const pgstattuple = await createPgstattuple(admin);
    await createBystanderTable(admin, settings.bystanderRows);
    const tally = new Tally();
    const running = await system.open({ ...settings, admin, connect, url, tally });
    // What setting up left behind, in catalogs too, is not the load's.
    await flushStatistics(clients, server.major);
    await admin.query("vacuum");
    const sampling = await connect("sampler");
    return {
      admin,
      bystanders: await Promise.all(Array.from({ length: settings.bystanders }, () => connect("bystander"))),
      clients,
      connect,
      site: {
        admin,
        connect: connectApart,
        url,
        heldSeconds: settings.heldSeconds,
        systemName: system.name,
        sent: () => tally.enqueued,
      },
      system: running,
      load: { ...settings, send: running.send, consumers: running.consumers, tally, lateness: new Latencies() },
      sampler: new Sampler(sampling, system.schema, system.segments, tally),
      serverCpu: await cpuOf(admin, running),
      pgstattuple,
      close: () => close(running),
    };
  } catch (error) {
    await close();
    throw error;
  }
}

async function cpuOf(admin: pg.Client, { otherServer }: RunningSystem): Promise<CpuClock | null> {
  const postgres = await serverCpu(admin);
  return postgres === null || otherServer === undefined ? postgres : sumOfCpu([postgres, otherServer]);
}

/** What happened from the first to the last sample of a phase. */
export interface PhaseMeasurement<T> extends CpuUsed {
  result: T;
  seconds: number;
  /** Messages that were due and never sent. */
  unsent: number;
  first: Sample;
  last: Sample;
  samples: Sample[];
  latency: LatencySummary | null;
  bystander: LatencySummary | null;
}

/**
 * Runs a load with everything that goes on beside it: maintenance, bystanders, samples. Nothing of all this goes on between
 * phases. `onSample` is called at every sample.
 */
export async function runPhase<T>(
  bench: Workbench,
  settings: Settings,
  phase: {
    name: string;
    drive: (signal: AbortSignal) => Promise<T>;
    onSample: (sample: Sample) => void | Promise<void>;
  },
  outer: AbortSignal,
): Promise<PhaseMeasurement<T>> {
  const bystander = new Latencies();
  bench.load.tally.latency = new Latencies();
  const from = bench.sampler.samples.length;
  const unsent = bench.load.tally.unsent;
  const cpu = await startCpuUse(bench.serverCpu);
  const sample = async (): Promise<Sample> => {
    const taken = await bench.sampler.sample(phase.name);
    await phase.onSample(taken);
    return taken;
  };
  const first = await sample();
  const startMs = performance.now();
  const beside = new Background(outer);
  startBeside(beside, bench, settings, bystander, sample);
  let result: T;
  let seconds: number;
  try {
    result = await phase.drive(beside.signal);
    seconds = (performance.now() - startMs) / 1000;
  } finally {
    await beside.stop();
  }
  const used = await cpu.used();
  const last = await sample();
  const samples = bench.sampler.samples.slice(from);
  return {
    result,
    seconds,
    unsent: bench.load.tally.unsent - unsent,
    first,
    last,
    samples,
    latency: bench.load.tally.latency.summary(),
    bystander: bystander.summary(),
    ...used,
  };
}

function startBeside(
  beside: Background,
  bench: Workbench,
  settings: Settings,
  bystander: Latencies,
  sample: () => Promise<unknown>,
): void {
  const { maintain, maintainSeconds = 1 } = bench.system;
  if (maintain) beside.every(maintainSeconds, maintain);
  const latency = {
    record(ms: number) {
      bystander.record(ms);
      bench.sampler.bystander.record(ms);
    },
  };
  const options = { rows: settings.bystanderRows, perSecond: settings.bystanderRate, latency };
  for (const client of bench.bystanders) beside.run((signal) => bystand(client, options, signal));
  beside.every(settings.sampleSeconds, sample);
}
