import type { Client } from "pg";
import { showCount } from "../output/text.ts";
import { ok, type Check, type Finding } from "./finding.ts";

type Settings = Map<string, string>;

/** A setting that hurts, and what says so. */
interface Rule {
  name: string;
  /** Default: "off" does. */
  hurts?: (value: string) => boolean;
  severity: "advice" | "warning" | "problem";
  why: string;
  /** A value that does not. Default: on. */
  better?: string;
  /** What makes the server read it. Default: a reload. */
  applied?: string;
}

const restart = "-- and restart the server";

const rules: readonly Rule[] = [
  {
    name: "autovacuum",
    severity: "problem",
    why: "Pgque's tables do without, but rotation changes catalog rows that only vacuum removes, as do all other tables",
  },
  {
    name: "fsync",
    severity: "problem",
    why: "a crash of the machine may destroy the whole database, and with it every message",
  },
  {
    name: "synchronous_commit",
    severity: "warning",
    why: "a crash loses what was sent and committed in the last moments; the workers set it themselves where it is harmless",
  },
  {
    name: "idle_in_transaction_session_timeout",
    hurts: (value) => value === "0",
    // the server's own default
    severity: "advice",
    why: "nothing ends a forgotten transaction, and while it lives all tables but Pgque's keep their dead rows",
    better: "'5min'",
  },
  {
    name: "track_activities",
    severity: "warning",
    why: "the server does not say since when a session has been in its transaction: doctor and guard cannot tell who holds the horizon",
  },
  {
    name: "old_snapshot_threshold",
    hurts: (value) => value !== "-1",
    severity: "warning",
    why: "long queries fail with 'snapshot too old' for the sake of dead rows, which Pgque does not have; PostgreSQL 17 removed it",
    better: "-1",
    applied: restart,
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
  return rules.flatMap((rule) => {
    const { name, hurts = (of: string) => of === "off", severity, why, better = "on" } = rule;
    const value = settings.get(name);
    if (value === undefined || !hurts(value)) return [];
    const fix = [`alter system set ${name} = ${better}`, rule.applied ?? "select pg_reload_conf()"];
    return [{ severity, found: `${name} is ${value}`, why, fix }];
  });
}

async function readSettings(client: Client): Promise<Settings> {
  const { rows } = await client.query<{ name: string; setting: string }>("select name, setting from pg_settings");
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
