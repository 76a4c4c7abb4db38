import { commonSettings, type CommonOptions, type CommonSettings } from "../scenario/common-settings.ts";
import { integer, integers, names } from "../option.ts";
import { senderNames } from "../adapters/registry.ts";

/** What a user of the scenario `sends` may choose. */
export interface SendsOptions extends CommonOptions {
  /** One repeat of short cells: indicative only. Default: false. */
  quick?: boolean;
  /** How long each cell is measured, seconds. Default: 2, quick 1. */
  durationSeconds?: number;
  /** Default: all. */
  systems?: string[];
  /** The least bytes of a payload's JSON. Default: 100, 1024. */
  payloadBytes?: number[];
  /** Messages in one call of those that send many. Default: 1000, 10000. */
  messages?: number[];
  /** Of those that send one message a call. Default: 1, 4. */
  connections?: number[];
  /** How often each cell is measured. Default: 5, quick 1. */
  repeat?: number;
}

export interface SendsSettings extends CommonSettings {
  quick: boolean;
  seconds: number;
  /** Systems take turns of about so long. */
  roundSeconds: number;
  /** Before the first of them, and not counted. */
  warmupSeconds: number;
  systems: string[];
  repeat: number;
  /** The least bytes of a payload's JSON. */
  payloadBytes: number[];
  /** Messages in one call of the group `many`. */
  messages: number[];
  /** Of the group `one`. */
  connections: number[];
  synchronousCommit: "on" | "off";
  autovacuumNaptimeSeconds: number;
}

/** Throws a BenchOptionError for the first option that cannot be used. */
export function resolveSendsSettings(options: SendsOptions): SendsSettings {
  const quick = options.quick ?? false;
  return {
    quick,
    seconds: integer("duration", options.durationSeconds ?? (quick ? 1 : 2), 1, 3600),
    roundSeconds: 0.5,
    warmupSeconds: quick ? 0.2 : 0.5,
    systems: names("systems", options.systems ?? senderNames, senderNames),
    repeat: integer("repeat", options.repeat ?? (quick ? 1 : 5), 1, 100),
    payloadBytes: integers("payload-bytes", options.payloadBytes ?? [100, 1024], 1, 1_048_576),
    messages: integers("messages", options.messages ?? [1000, 10_000], 1, 100_000),
    connections: integers("connections", options.connections ?? [1, 4], 1, 100),
    synchronousCommit: "on",
    // a cell lasts seconds, and nothing is updated or deleted: a vacuum of one system's table would only disturb another's round
    autovacuumNaptimeSeconds: 3600,
    ...commonSettings(options),
  };
}
