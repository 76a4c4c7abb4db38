import { turned } from "../scenario/turned.ts";
import { drainSystems } from "../adapters/registry.ts";
import type { DrainPlan } from "./drain-results.ts";
import type { DrainSettings } from "./drain-settings.ts";

/** The systems in turn with each number of processes within each repeat: a machine that gets slower gets slower for all. */
export function drainPlan(settings: DrainSettings): DrainPlan[] {
  return Array.from({ length: settings.repeat }, (_, index) => index + 1).flatMap((repeat) =>
    settings.processes.flatMap((processes) =>
      turned(systemsOf(settings), repeat - 1).map((system) => ({ system, processes, repeat })),
    ),
  );
}

/** In the order of the tables. */
export function systemsOf({ systems }: Pick<DrainSettings, "systems">): string[] {
  return drainSystems.map(({ name }) => name).filter((name) => systems.includes(name));
}
