import type pg from "pg";
import { dueOf } from "../../load/messages.ts";
import type { Described, Receive, RunningSystem, Send, System, Workload } from "../adapter.ts";

const tuning = "autovacuum_vacuum_scale_factor = 0.005, autovacuum_vacuum_cost_limit = 10000";

export const tunedSetting =
  "autovacuum_vacuum_scale_factor 0.005 and cost limit 10000 on its tables: so that nobody can say it was not tuned";

export const steadyPlansSetting =
  "enable_seqscan, enable_bitmapscan, enable_hashjoin, enable_mergejoin off for its consumers: always the plan a full table gets";

const unwanted = ["seqscan", "bitmapscan", "hashjoin", "mergejoin"];

/** The same as `steadyPlans`, for the option `options` of a connection. */
export const steadyPlansOptions = unwanted.map((plan) => `-c enable_${plan}=off`).join(" ");

/** The planner has nothing else to choose than what it would choose for a full table. */
export async function steadyPlans(client: pg.Client): Promise<void> {
  await client.query(unwanted.map((plan) => `set enable_${plan} = off`).join("; "));
}

/** Statistics for the planner before the first row: otherwise the first plan is made for a table of unknown size. */
export const tunedTable = (table: string, columns: string): string => `
  create table ${table} (${columns}) with (${tuning});
  analyze ${table};`;

const tables = `
  select format('alter table %s set (${tuning})', oid::regclass) as tune
    from pg_class
   where relnamespace = $1::regnamespace
     and relkind = 'r'
     and not coalesce(reloptions && '{autovacuum_enabled=off,autovacuum_enabled=false}', false)`;

/** Autovacuum for the tables of a library as for our own; not for those whose autovacuum it has switched off itself. */
export async function tuneAutovacuum(admin: pg.Client, schema: string): Promise<void> {
  const { rows } = await admin.query<{ tune: string }>(tables, [schema]);
  for (const { tune } of rows) await admin.query(tune);
}

/** A queue that is one table of a schema, which has a column `payload`. */
interface TableQueue extends Described {
  schema: string;
  /** Default: `job`. */
  table?: string;
  columns: string;
  /** What the schema has besides. Default: nothing. */
  more?: string;
  consumer: (workload: Workload) => Promise<Receive>;
}

export function tableQueue({ table = "job", columns, more = "", consumer, ...described }: TableQueue): System {
  const { schema, settings } = described;
  return {
    ...described,
    settings: [...settings, tunedSetting, steadyPlansSetting],
    segments: null,
    async open(workload) {
      await workload.admin.query(`create schema ${schema}; ${tunedTable(`${schema}.${table}`, columns)} ${more}`);
      return pulled(workload, insertingInto(`${schema}.${table}`), consumer);
    },
  };
}

/** A system with a connection or two for every producer and consumer, all of which wait for the harness to call. */
export async function pulled(
  workload: Workload,
  producer: (workload: Workload) => Promise<Send>,
  consumer: (workload: Workload) => Promise<Receive>,
): Promise<RunningSystem & { consumers: { kind: "pulled" } }> {
  const { producers, consumers } = workload;
  const send = await Promise.all(Array.from({ length: producers }, () => producer(workload)));
  const receive = await Promise.all(Array.from({ length: consumers }, () => consumer(workload)));
  return { send, consumers: { kind: "pulled", receive } };
}

/** A producer that sends by one statement. `values`: what it is given. Default: all payloads as one array. */
export function sendingBy(
  text: string,
  values: (payloads: string[]) => unknown[] = (payloads) => [payloads],
): (workload: Workload) => Promise<Send> {
  return async ({ connect }) => {
    const client = await connect("producer");
    return async (payloads) => {
      await client.query({ name: "send", text, values: values(payloads) });
    };
  };
}

export const insertingInto = (table: string) => sendingBy(`insert into ${table} (payload) select unnest($1::text[])`);

interface Statements {
  /** Its rows are a key and a payload. */
  receive: { text: string; values?: unknown[] };
  /** Finishes what was received; how many it were. Default: what was received is finished. */
  finish?: (client: pg.Client, keys: string[]) => Promise<number>;
  isSteady?: boolean;
}

/**
 * A consumer of two statements, each on a connection of its own. What the first has done may get lost, and is then done again; without a second one
 * it may not.
 */
export async function receivingBy(
  { connect, tally }: Workload,
  { receive, finish, isSteady = false }: Statements,
): Promise<Receive> {
  const receiving = await connect("consumer receive", finish && { synchronousCommit: "off" });
  const finishing = finish && (await connect("consumer finish"));
  if (isSteady) for (const client of [receiving, finishing]) if (client) await steadyPlans(client);
  return async () => {
    const { rows } = await tally.pick(() =>
      receiving.query<[string, unknown]>({ name: "receive", ...receive, rowMode: "array" }),
    );
    for (const [, payload] of rows) tally.received(dueOf(payload));
    const keys = rows.map(([key]) => key);
    tally.finished(finish && finishing && keys.length > 0 ? await finish(finishing, keys) : keys.length);
    return keys.length;
  };
}

/** Finishes by a statement, which is given all keys as one array. */
export const finishingBy =
  (text: string, ...values: unknown[]) =>
  async (client: pg.Client, keys: string[]): Promise<number> =>
    (await client.query({ name: "finish", text, values: [keys, ...values] })).rowCount ?? 0;
