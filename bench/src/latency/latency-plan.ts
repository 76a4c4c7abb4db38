import { turned } from "../scenario/turned.ts";
import { latencySystems } from "../adapters/registry.ts";
import type { LatencyPlan } from "./latency-results.ts";
import type { LatencySettings } from "./latency-settings.ts";

/** The cells of one rate within one repeat are measured together; who comes first changes from repeat to repeat. */
export function latencyPlan(settings: LatencySettings): LatencyPlan[][] {
  return Array.from({ length: settings.repeat }, (_, index) => index + 1).flatMap((repeat) =>
    settings.rates.map((messagesPerSecond) =>
      turned(systemsOf(settings), repeat - 1).map((system) => ({ system, messagesPerSecond, repeat })),
    ),
  );
}

/** In the order of the tables. */
export function systemsOf({ systems }: Pick<LatencySettings, "systems">): string[] {
  return latencySystems.map(({ name }) => name).filter((name) => systems.includes(name));
}
