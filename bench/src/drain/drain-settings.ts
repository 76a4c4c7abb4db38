import { commonSettings, type CommonOptions, type CommonSettings } from "../scenario/common-settings.ts";
import { integer, integers, names } from "../option.ts";
import { drainSystems } from "../adapters/registry.ts";

/** What a user of the scenario `drain` may choose. */
export interface DrainOptions extends CommonOptions {
  /** One repeat of few messages: indicative only. Default: false. */
  quick?: boolean;
  /** Sent before the start, then drained. Default: 1000000, quick 50000. */
  messages?: number;
  /** Worker processes. Default: 1, 4. */
  processes?: number[];
  /** Default: all. */
  systems?: string[];
  /** How often each cell is measured. Default: 3, quick 1. */
  repeat?: number;
  /** How many messages are sent before the start; the rest follows, so that there are always about as many more than were handled. Default: all, with `memory` 500000. */
  ahead?: number;
  /** Sample the memory of the worker process, garbage collected first, and say whether it grows. Default: false. */
  memory?: boolean;
}

export interface DrainSettings extends CommonSettings {
  quick: boolean;
  messages: number;
  processes: number[];
  systems: string[];
  repeat: number;
  ahead: number;
  memory: boolean;
  synchronousCommit: "on" | "off";
  autovacuumNaptimeSeconds: number;
}

export const drainSystemNames = drainSystems.map(({ name }) => name);

/** With all of them the disk would be filled by a run that lasts. */
const aheadWithMemory = 500_000;

/** Throws a BenchOptionError for the first option that cannot be used. */
export function resolveDrainSettings(options: DrainOptions): DrainSettings {
  const quick = options.quick ?? false;
  const memory = options.memory ?? false;
  const messages = integer("messages", options.messages ?? (quick ? 50_000 : 1_000_000), 1, 1_000_000_000);
  return {
    quick,
    messages,
    processes: integers("processes", options.processes ?? [1, 4], 1, 64),
    systems: names("systems", options.systems ?? drainSystemNames, drainSystemNames),
    repeat: integer("repeat", options.repeat ?? (quick ? 1 : 3), 1, 100),
    ahead: integer("ahead", options.ahead ?? (memory ? Math.min(messages, aheadWithMemory) : messages), 1, messages),
    memory,
    synchronousCommit: "on",
    autovacuumNaptimeSeconds: 10,
    ...commonSettings(options),
  };
}
