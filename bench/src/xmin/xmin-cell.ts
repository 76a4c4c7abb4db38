import type { Holder, Horizon, Proof } from "../horizons/horizon.ts";
import { whileHeld } from "../horizons/held.ts";
import { closedLoop, drain, withPushed, type Drive, type DriveResult, openLoop } from "../load/load.ts";
import { MessageBooks } from "../load/tally.ts";
import { deadTuplesIn, flushStatistics, relationsOf, type DeadTuples, type Relation } from "../measure/relations.ts";
import type { Sample } from "../measure/sampler.ts";
import type { Server } from "../runner/server.ts";
import type { Settings } from "./xmin-settings.ts";
import type { System } from "../adapters/adapter.ts";
import { runPhase, type PhaseMeasurement } from "./phase.ts";
import { openWorkbench, type Workbench } from "./workbench.ts";

export const phaseNames = ["clean", "held", "recovery"] as const;
export type PhaseName = (typeof phaseNames)[number];

/** All that one cell found out, before it is judged. */
export interface Measured {
  /** Whether the system keeps its messages in PostgreSQL at all. */
  inPostgres: boolean;
  clean: PhaseMeasurement<DriveResult>;
  held: PhaseMeasurement<DriveResult>;
  /** Seconds the backlog took to drain; null when it did not. */
  recovery: PhaseMeasurement<number | null>;
  /** At the end of the held phase. */
  proof: Proof;
  dead: DeadTuples;
  deadTuplesFrom: "pgstattuple" | "statistics";
  /** In the clean and the held phase. */
  tuplesUpdated: number;
  tuplesDeleted: number;
  catalogBefore: DeadTuples;
  catalogAfter: DeadTuples;
  /** See MessageBooks. */
  mismatch: string | null;
  bench: Workbench;
}

export interface CellHooks {
  onPhase: (phase: PhaseName) => void;
  onSample: (sample: Sample) => void;
}

/**
 * One cell: clean, then the same load with the horizon held, then, with the horizon let go and nothing more sent, until
 * the backlog is gone. Dead tuples are counted when the load has stopped and the holder still holds.
 */
export async function measureXmin(
  server: Server,
  system: System,
  horizon: Horizon,
  settings: Settings,
  hooks: CellHooks,
  signal: AbortSignal,
): Promise<Measured> {
  const bench = await openWorkbench(server, system, settings);
  const books = new MessageBooks();
  bench.load.tally.watch = books;
  try {
    await horizon.check?.(bench.site);
    const drive: Drive = settings.mode === "saturated" ? closedLoop : openLoop(settings.rate);
    const phase = <T>(name: PhaseName, work: (signal: AbortSignal) => Promise<T>): Promise<PhaseMeasurement<T>> => {
      hooks.onPhase(name);
      return runPhase(bench, settings, { name, drive: work, onSample: hooks.onSample }, signal);
    };
    // what a library takes to start and to stop is no part of the time
    const loaded = (name: PhaseName, seconds: number): Promise<PhaseMeasurement<DriveResult>> =>
      withPushed(bench.load.consumers, () => phase(name, (stop) => drive(bench.load, seconds, stop)));
    await flushStatistics(bench.clients, server.major);
    const before = await relationsOf(bench.admin, system.schema);
    const clean = await loaded("clean", settings.cleanSeconds);
    const catalogBefore = await deadIn(bench, "pg_catalog");
    const { held, ...counted } = await whileHeld(await horizon.hold(bench.site), async (holder) => {
      await holder.prove();
      const held = await loaded("held", settings.heldSeconds);
      return { held, ...(await count(bench, system, holder, server.major, before)) };
    });
    const recovery = await phase("recovery", (stop) => drain(bench.load, settings.recoverySecondsMax, stop));
    const mismatch = recovery.result === null ? books.surplus() : books.mismatch();
    return { inPostgres: system.schema !== null, clean, held, recovery, catalogBefore, ...counted, mismatch, bench };
  } finally {
    await bench.close();
  }
}

async function count(
  bench: Workbench,
  system: System,
  holder: Holder,
  serverMajor: number,
  before: Relation[],
): Promise<Omit<Measured, "inPostgres" | "clean" | "held" | "recovery" | "catalogBefore" | "mismatch" | "bench">> {
  await holder.prove();
  await flushStatistics(bench.clients, serverMajor);
  const dead = await deadIn(bench, system.schema);
  const after = await relationsOf(bench.admin, system.schema);
  const catalogAfter = await deadIn(bench, "pg_catalog");
  return {
    // until all was counted
    proof: await holder.prove(),
    dead,
    deadTuplesFrom: bench.pgstattuple ? "pgstattuple" : "statistics",
    tuplesUpdated: sumOf(after, "updates") - sumOf(before, "updates"),
    tuplesDeleted: sumOf(after, "deletes") - sumOf(before, "deletes"),
    catalogAfter,
  };
}

const sumOf = (relations: Relation[], figure: "updates" | "deletes"): number =>
  relations.reduce((sum, relation) => sum + relation[figure], 0);

const deadIn = ({ admin, pgstattuple }: Workbench, schema: string | null): Promise<DeadTuples> =>
  deadTuplesIn(admin, schema, pgstattuple);
