import type { Client } from "pg";
import { showCount } from "../output/text.ts";
import { ok, type Check, type Finding } from "./finding.ts";

type Settings = Map<string, string>;

/** A setting that hurts, and what says so. */
interface Rule {
  name: string;
  hurts: (value: string) => boolean;
  severity: "warning" | "problem";
  why: string;
  fix: string[];
}

const reload = "select pg_reload_conf()";
const restart = "-- and restart the server";

const rules: readonly Rule[] = [
  {
    name: "autovacuum",
    hurts: (value) => value === "off",
    severity: "problem",
    why: "Pgque's tables do without, but rotation changes catalog rows that only vacuum removes, as do all other tables",
    fix: ["alter system set autovacuum = on", reload],
  },
  {
    name: "fsync",
    hurts: (value) => value === "off",
    severity: "problem",
    why: "a crash of the machine may destroy the whole database, and with it every message",
    fix: ["alter system set fsync = on", reload],
  },
  {
    name: "synchronous_commit",
    hurts: (value) => value === "off",
    severity: "warning",
    why: "a crash loses what was sent and committed in the last moments; the workers set it themselves where it is harmless",
    fix: ["alter system set synchronous_commit = on", reload],
  },
  {
    name: "idle_in_transaction_session_timeout",
    hurts: (value) => value === "0",
    severity: "warning",
    why: "nothing ends a forgotten transaction, and while it lives all tables but Pgque's keep their dead rows",
    fix: ["alter system set idle_in_transaction_session_timeout = '5min'", reload],
  },
  {
    name: "track_activities",
    hurts: (value) => value === "off",
    severity: "warning",
    why: "the server does not say since when a session has been in its transaction: doctor and guard cannot tell who holds the horizon",
    fix: ["alter system set track_activities = on", reload],
  },
  {
    name: "old_snapshot_threshold",
    hurts: (value) => value !== "-1",
    severity: "warning",
    why: "long queries fail with 'snapshot too old' for the sake of dead rows, which Pgque does not have; PostgreSQL 17 removed it",
    fix: ["alter system set old_snapshot_threshold = -1", restart],
  },
];

/** Settings that hurt a queue, room for locks and connections. */
export const settingsCheck: Check = {
  name: "settings",
  needsSchema: false,
  async run({ client, schema }) {
    const settings = await readSettings(client);
    const findings = [...settingFindings(settings), ...(await roomFindings(client, schema, settings))];
    return findings.length > 0 ? findings : [ok("nothing that hurts")];
  },
};

/** What is wrong with these settings. One that the server does not have is not. */
export function settingFindings(settings: Settings): Finding[] {
  return rules.flatMap(({ name, hurts, severity, why, fix }) => {
    const value = settings.get(name);
    return value !== undefined && hurts(value) ? [{ severity, found: `${name} is ${value}`, why, fix }] : [];
  });
}

async function readSettings(client: Client): Promise<Settings> {
  const names = [
    ...rules.map(({ name }) => name),
    "max_connections",
    "max_locks_per_transaction",
    "max_prepared_transactions",
  ];
  const { rows } = await client.query<{ name: string; setting: string }>(
    "select name, setting from pg_settings where name = any ($1)",
    [names],
  );
  return new Map(rows.map(({ name, setting }) => [name, setting]));
}

async function roomFindings(client: Client, schema: string, settings: Settings): Promise<Finding[]> {
  const { rows } = await client.query<{ connections: number; relations: number }>(
    `select (select count(*)::int from pg_stat_activity where backend_type = 'client backend' or backend_type is null) as connections,
            (select count(*)::int from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname = $1) as relations`,
    [schema],
  );
  const { connections = 0, relations = 0 } = rows[0] ?? {};
  const number = (name: string): number => Number(settings.get(name) ?? 0);
  const [connectionsMax, locksEach] = [number("max_connections"), number("max_locks_per_transaction")];
  const locksMax = locksEach * (connectionsMax + number("max_prepared_transactions"));
  return [...connectionsFinding(connections, connectionsMax), ...locksFinding(relations, locksMax, locksEach)];
}

/** Room for connections: a worker that restarts needs some five for a moment. */
export function connectionsFinding(used: number, max: number): Finding[] {
  if (used < 0.8 * max) return [];
  return [
    {
      severity: used >= 0.95 * max ? "problem" : "warning",
      found: `${used} of ${max} connections are in use`,
      why: "a worker or a sender that connects next may be refused",
      fix: ["-- a pooler, smaller pools, or:", `alter system set max_connections = ${2 * max}`, restart],
    },
  ];
}

/** Room for locks: what works through all relations of the schema in one transaction takes one on each. */
export function locksFinding(relations: number, max: number, each: number): Finding[] {
  if (relations < 0.5 * max) return [];
  const factor = Math.ceil((2 * relations) / max);
  return [
    {
      severity: relations >= 0.9 * max ? "problem" : "warning",
      found: `the schema has ${showCount(relations)} relations, and the server has room for ${showCount(max)} locks`,
      why: "pg_dump, repair and drop schema lock all of them in one transaction, and fail when there is no room",
      fix: [`alter system set max_locks_per_transaction = ${each * factor}`, restart],
    },
  ];
}
