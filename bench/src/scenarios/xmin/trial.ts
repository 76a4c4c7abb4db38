import type { System } from "../../adapters/adapter.ts";
import { whileHeld } from "../../horizons/held.ts";
import type { Holder, Horizon } from "../../horizons/horizon.ts";
import { closedLoop, drain, type DriveResult, openLoop, withPushed } from "../../load/load.ts";
import { DeliveryLedger } from "../../load/tally.ts";
import { type DeadTuples, deadTuplesIn, flushStatistics, type Relation, relationsOf } from "../../measure/relations.ts";
import type { Sample } from "../../measure/sampler.ts";
import type { Server } from "../../runner/server.ts";
import type { Settings } from "./settings.ts";
import { openWorkbench, runPhase, type PhaseMeasurement, type Workbench } from "./workbench.ts";

export type PhaseName = "clean" | "held" | "recovery";

/** All that one trial found out, before it is judged. */
export type Measured = Awaited<ReturnType<typeof measureXmin>>;

export interface TrialHooks {
  onPhase: (phase: PhaseName) => void;
  onSample: (sample: Sample) => void;
}

/**
 * One trial: clean, then the same load with the horizon held, then, with the horizon let go and nothing more sent, until
 * the backlog is gone. Dead tuples are counted when the load has stopped and the holder still holds.
 */
export async function measureXmin(
  server: Server,
  system: System,
  horizon: Horizon,
  settings: Settings,
  hooks: TrialHooks,
  signal: AbortSignal,
) {
  const bench = await openWorkbench(server, system, settings);
  const ledger = new DeliveryLedger();
  bench.load.tally.watch = ledger;
  try {
    await horizon.check?.(bench.site);
    const drive = settings.mode === "saturated" ? closedLoop : openLoop(settings.rate);
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
    /** Its result: the seconds the backlog took to drain; null when it did not. */
    const recovery = await phase("recovery", (stop) => drain(bench.load, settings.recoverySecondsMax, stop));
    /** See DeliveryLedger. */
    const mismatch = recovery.result === null ? ledger.surplus() : ledger.mismatch();
    /** Whether the system keeps its messages in PostgreSQL at all. */
    const inPostgres = system.schema !== null;
    return { inPostgres, clean, held, recovery, catalogBefore, ...counted, mismatch, bench };
  } finally {
    await bench.close();
  }
}

/** At the end of the held phase. */
async function count(bench: Workbench, system: System, holder: Holder, serverMajor: number, before: Relation[]) {
  await holder.prove();
  await flushStatistics(bench.clients, serverMajor);
  const dead = await deadIn(bench, system.schema);
  const after = await relationsOf(bench.admin, system.schema);
  const catalogAfter = await deadIn(bench, "pg_catalog");
  return {
    // until all was counted
    proof: await holder.prove(),
    dead,
    /** In the clean and the held phase. */
    tuplesUpdated: sumOf(after, "updates") - sumOf(before, "updates"),
    tuplesDeleted: sumOf(after, "deletes") - sumOf(before, "deletes"),
    catalogAfter,
  };
}

const sumOf = (relations: Relation[], figure: "updates" | "deletes"): number =>
  relations.reduce((sum, relation) => sum + relation[figure], 0);

const deadIn = ({ admin, pgstattuple }: Workbench, schema: string | null): Promise<DeadTuples> =>
  deadTuplesIn(admin, schema, pgstattuple);
