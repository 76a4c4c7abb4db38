import type { SqlFiles } from "../../adapters/adapter.ts";
import { sqlFilesOf, type SqlFileOptions } from "../../adapters/support/sql-file.ts";
import { payloadBytesMin } from "../../load/messages.ts";
import { type SystemPlan, rotate } from "../../runner/trials.ts";
import {
  integerOption,
  integersOption,
  namesOption,
  onOrOffOption,
  repeatOption,
  settingsOf,
  type OptionsOf,
  type SettingsOf,
} from "../../runner/options.ts";

/**
 * Those that keep their messages in PostgreSQL, and whose consumers the harness can call for one batch after the other. A library's own
 * workers are what the scenario `drain` measures, its sends what `send` does.
 */
export const throughputSystemNames = ["pgque", "skip-locked", "skip-locked-delete", "pgmq", "pgq", "pgq-universal"];

export const throughputOptions = {
  /** A receive ends with its backlog if that comes first. */
  durationSeconds: integerOption(["duration <seconds>", "the most each trial is measured"], [1, 3600], 10, 2),
  /** Batches are sent and received on one connection. */
  clients: integerOption(["clients <n>", "who send one message a transaction"], [1, 100], 16),
  /** At most 100000, Pgque's own limit. */
  batch: integerOption(["batch <messages>", "in one send or receive, fewer above 64 MiB"], [2, 100_000], 100_000, 5000),
  messages: integerOption(["messages <n>", "of the backlog, fewer above 512 MiB"], [1, 100_000_000], 1_000_000, 30_000),
  payloadBytes: integersOption(
    ["payload-bytes <numbers>", "one message a transaction: the smallest"],
    [payloadBytesMin, 1_048_576],
    [100, 2048],
  ),
  systems: namesOption(["systems <names>", ""], throughputSystemNames),
  /** Of senders and of what finishes messages. */
  synchronousCommit: onOrOffOption(["synchronous-commit <setting>", "on or off; published with off"], "off"),
  repeat: repeatOption(3, 1),
};

/** What a user of the scenario `throughput` may choose. */
export type ThroughputOptions = OptionsOf<typeof throughputOptions> & SqlFileOptions;

export type ThroughputSettings = SettingsOf<typeof throughputOptions> & {
  /** Of sending, before it is measured; of receiving it is one call. */
  warmupSeconds: number;
  idlePollMs: number;
  sqlFiles: SqlFiles;
  autovacuumNaptimeSeconds: number;
};

/** Throws a BenchOptionError for the first option that cannot be used. */
export function resolveThroughputSettings(given: ThroughputOptions): ThroughputSettings {
  const settings = settingsOf(throughputOptions, given);
  return {
    ...settings,
    warmupSeconds: settings.quick ? 0.5 : 2,
    idlePollMs: 10,
    sqlFiles: sqlFilesOf(given),
    autovacuumNaptimeSeconds: settings.quick ? 1 : 10,
  };
}

/** What is done as fast as it goes, with nothing else going on. */
export interface ThroughputLoad {
  kind: "send" | "receive";
  payloadBytes: number;
  /** Messages in one send and transaction, or the most that one receive returns. */
  perCall: number;
  /** Connections that call at the same time. */
  clients: number;
  /** Messages that are there before a receive is measured, but for those of the warm-up; null for a send. */
  backlog: number | null;
}

/** One system under one load, before it is measured. */
export interface ThroughputPlan extends ThroughputLoad, SystemPlan {}

/** The client has a whole call in memory, and so has the server. */
const callBytesMax = 64 * 1024 * 1024;
/** On disk it is more, and it is sent anew for every trial. */
const backlogBytesMax = 512 * 1024 * 1024;

type Sizes = Pick<ThroughputSettings, "payloadBytes" | "clients" | "batch" | "messages">;

/** In the order of the tables: one message a transaction, with the smallest payload; then batches, with each. */
export function throughputLoads({ payloadBytes, clients, batch, messages }: Sizes): ThroughputLoad[] {
  const batched = (kind: ThroughputLoad["kind"]): ThroughputLoad[] =>
    payloadBytes.map((bytes) => {
      const perCall = Math.max(1, Math.min(batch, Math.floor(callBytesMax / bytes)));
      const backlog = kind === "send" ? null : wholeCalls(Math.min(messages, backlogBytesMax / bytes), perCall);
      return { kind, payloadBytes: bytes, perCall, clients: 1, backlog };
    });
  return [
    { kind: "send", payloadBytes: Math.min(...payloadBytes), perCall: 1, clients, backlog: null },
    ...batched("send"),
    ...batched("receive"),
  ];
}

/** The most messages that come in calls of so many, and at least one call. */
function wholeCalls(messages: number, perCall: number): number {
  return Math.max(1, Math.floor(messages / perCall)) * perCall;
}

/** The systems of one load follow on each other; who comes first changes from repeat to repeat. */
export function throughputPlan(settings: ThroughputSettings): ThroughputPlan[] {
  return Array.from({ length: settings.repeat }, (_, n) =>
    throughputLoads(settings).flatMap((load) =>
      rotate(settings.systems, n).map((system) => ({ system, repeat: n + 1, ...load })),
    ),
  ).flat();
}
