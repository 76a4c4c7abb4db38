import type { Adapter, Group, Sender, System } from "./adapter.ts";
import { adapter as advisoryLock } from "./advisory-lock.ts";
import { adapter as bullmq } from "./bullmq.ts";
import { adapter as controls } from "./controls.ts";
import { adapter as graphileWorker } from "./graphile-worker.ts";
import { adapter as pgBoss } from "./pg-boss.ts";
import { adapter as pgmq } from "./pgmq.ts";
import { adapter as pgq } from "./pgq.ts";
import { adapter as pgque } from "./pgque.ts";
import { adapter as que } from "./que.ts";
import { adapter as queueClassic } from "./queue-classic.ts";
import { adapter as redisBatch } from "./redis-batch.ts";
import { adapter as skipLocked } from "./skip-locked.ts";

/** In the order of help and of the tables. */
const adapters: Adapter[] = [
  pgque,
  skipLocked,
  advisoryLock,
  que,
  queueClassic,
  redisBatch,
  graphileWorker,
  pgBoss,
  bullmq,
  pgmq,
  pgq,
  controls,
];

export const systems = adapters.flatMap(({ load = [] }) => load);
export const senders = adapters.flatMap(({ send = [] }) => send);
export const drainSystems = adapters.flatMap(({ drain = [] }) => drain);
export const latencySystems = adapters.flatMap(({ latency = [] }) => latency);
export const ratesSystems = adapters.flatMap(({ rates = [] }) => rates);
export const pickers = adapters.flatMap(({ pick = [] }) => pick);
export const degradedSystems = adapters.flatMap(({ degradation = [] }) => degradation);

/** A name may stand for several rows: those of one and of many messages. */
export const namesOf = (rows: { name: string }[]): string[] => [...new Set(rows.map(({ name }) => name))];

/** Throws when there is none: names are checked when options are. */
export function named<Row extends { name: string }>(rows: Row[], name: string): Row {
  const found = rows.find((row) => row.name === name);
  if (found === undefined) throw new Error(`there is no system ${name}`);
  return found;
}

export const systemNames = namesOf(systems);
export const senderNames = namesOf(senders);
export const pickerNames = namesOf(pickers);
export const degradedSystemNames = namesOf(degradedSystems);
export const systemNamed = (name: string): System => named(systems, name);

export function senderNamed(group: Group, name: string): Sender {
  return named(
    senders.filter((sender) => sender.group === group),
    name,
  );
}

/** The system that the others of a group are compared with. */
export const reference: Record<Group, string> = { many: "pgque", one: "insert" };
