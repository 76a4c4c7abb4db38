import type pg from "pg";
import { openDatabase, type Server } from "../runner/server.ts";
import type { HorizonContext } from "../horizons/horizon.ts";
import type { Load } from "../load/load.ts";
import { Tally } from "../load/tally.ts";
import { createBystanderTable } from "../measure/bystander.ts";
import { createPgstattuple, flushStatistics } from "../measure/relations.ts";
import { Latencies } from "../measure/histogram.ts";
import { Sampler } from "../measure/sampler.ts";
import { serverCpu, sumOfCpu, type CpuClock } from "../measure/processes.ts";
import type { Settings } from "./xmin-settings.ts";
import type { RunningSystem, System } from "../adapters/adapter.ts";

/** One cell's fresh database with everything set up in it and nothing running yet. */
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
