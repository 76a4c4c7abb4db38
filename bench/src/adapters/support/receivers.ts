import type pg from "pg";
import type { Described } from "../adapter.ts";
import { claim, finish, take } from "../skip-locked.ts";
import { consumerName, createQueue, queue } from "./pgque-queue.ts";
import { steadyPlans, steadyPlansSetting, tunedTable } from "./table.ts";

/** Receives and finishes messages in SQL, a batch at a time, on one connection. */
export interface Receiver extends Described {
  prepare(admin: pg.Client): Promise<void>;
  /** Sends so many, in one statement. */
  send(client: pg.Client, count: number): Promise<unknown>;
  /** Does its upkeep, as a worker would. */
  maintain?(client: pg.Client): Promise<unknown>;
  /** What receives up to `max` messages, and finishes them or those of the call before. Returns how many. */
  open(client: pg.Client): Promise<(max: number) => Promise<number>>;
}

const payload = (count: number): string[] => Array.from({ length: count }, () => '{"n": 1}');

function pgqueReceiver(described: Described, mode: "shared" | "exclusive", open: Receiver["open"]): Receiver {
  return {
    ...described,
    async prepare(admin) {
      await createQueue(admin, {});
      await admin.query("select pgque.subscribe($1, $2, $3)", [queue, consumerName, { mode }]);
    },
    send: (client, count) =>
      client.query({ name: "send", text: "select pgque.send_batch($1, $2::text[])", values: [queue, payload(count)] }),
    maintain: (client) => client.query("select pgque.maintain()"),
    open,
  };
}

interface Row {
  batch_id: string;
}

async function receiveAndAck(client: pg.Client): ReturnType<Receiver["open"]> {
  const text = "select batch_id, payload from pgque.receive_messages($1, $2, null, $3)";
  return async (max) => {
    const { rows } = await client.query<Row>({ name: "receive", text, values: [queue, consumerName, max] });
    const [first] = rows;
    if (first !== undefined)
      await client.query({ name: "ack", text: "select pgque.ack($1::bigint)", values: [first.batch_id] });
    return rows.length;
  };
}

async function next(client: pg.Client): ReturnType<Receiver["open"]> {
  const text = "select batch_id, payload from pgque.next_messages($1, $2, $3::bigint[], null, $4)";
  let finished: string[] = [];
  return async (max) => {
    const { rows } = await client.query<Row>({ name: "next", text, values: [queue, consumerName, finished, max] });
    finished = rows.slice(0, 1).map(({ batch_id }) => batch_id);
    return rows.length;
  };
}

function tableReceiver(
  described: Described,
  schema: string,
  { columns, index = "" }: { columns: string; index?: string },
  open: Receiver["open"],
): Receiver {
  return {
    ...described,
    settings: [...described.settings, steadyPlansSetting],
    async prepare(admin) {
      await admin.query(`create schema ${schema}; ${tunedTable(`${schema}.job`, columns)} ${index}`);
    },
    send: (client, count) =>
      client.query({
        name: "send",
        text: `insert into ${schema}.job (payload) select unnest($1::text[])`,
        values: [payload(count)],
      }),
    async open(client) {
      await steadyPlans(client);
      return open(client);
    },
  };
}

async function claimAndDelete(client: pg.Client): ReturnType<Receiver["open"]> {
  return async (max) => {
    const { rows } = await client.query<{ id: string }>({ name: "claim", text: claim, values: [max] });
    const ids = rows.map(({ id }) => id);
    if (ids.length > 0) await client.query({ name: "finish", text: finish, values: [ids] });
    return ids.length;
  };
}

async function takeAtOnce(client: pg.Client): ReturnType<Receiver["open"]> {
  return async (max) => (await client.query({ name: "take", text: take, values: [max] })).rows.length;
}

export const receivers: Receiver[] = [
  pgqueReceiver(
    {
      name: "pgque",
      summary: "`receive_messages`, then `ack` of the batch; the consumer is shared",
      settings: ["maintain() between the phases"],
    },
    "shared",
    receiveAndAck,
  ),
  pgqueReceiver(
    {
      name: "pgque-next",
      summary: "`next_messages`, which acks the batch of the call before and receives, in one call and commit",
      settings: ["maintain() between the phases"],
    },
    "shared",
    next,
  ),
  pgqueReceiver(
    {
      name: "pgque-exclusive",
      summary: "as pgque, with an exclusive consumer: one batch at a time",
      settings: ["maintain() between the phases"],
    },
    "exclusive",
    receiveAndAck,
  ),
  tableReceiver(
    {
      name: "skip-locked",
      summary: "claim by UPDATE of rows picked with FOR UPDATE SKIP LOCKED, then DELETE by their ids",
      settings: ["partial index on id of what is ready"],
    },
    "skip_locked",
    {
      columns:
        "id bigint generated always as identity primary key, state text not null default 'ready', payload text not null, created_at timestamptz not null default now(), claimed_at timestamptz",
      index: "create index job_ready on skip_locked.job (id) where state = 'ready'",
    },
    claimAndDelete,
  ),
  tableReceiver(
    {
      name: "skip-locked-delete",
      summary: "one DELETE of rows picked with FOR UPDATE SKIP LOCKED: what it has returned is gone",
      settings: [],
    },
    "skip_locked_delete",
    {
      columns:
        "id bigint generated always as identity primary key, payload text not null, created_at timestamptz not null default now()",
    },
    takeAtOnce,
  ),
];
