import { finished } from "node:stream/promises";
import { Client, type Pool } from "pg";
import { from as copyFrom } from "pg-copy-streams";
import type {
  Adapter,
  Described,
  Handle,
  OpenWorker,
  Picker,
  Place,
  Sender,
  SendSite,
  Store,
  WorkerSystem,
} from "./adapter.ts";
import { openPool, rowsIn, storeIn, warm } from "./support/pg-store.ts";
import type { Numbered, Order } from "../load/messages.ts";

/** No queues: the least that parts of one take here. */
export const controls: WorkerSystem[] = [
  control(
    {
      name: "select",
      summary: "no queue: the round trip of a prepared `select` on a pool, from when it was due until its answer",
      settings: ["what it takes to wake a server process that sleeps, and this one"],
    },
    async (pool, handle) => ({
      send: async (message) => {
        await pool.query({ name: "select", text: "select $1::text", values: [JSON.stringify(message)] });
        handle(message);
      },
    }),
  ),
  control(
    {
      name: "notify",
      summary: "no queue: a bare NOTIFY, until the connection that listens has it",
      settings: ["nothing is written, nothing waits for the disk"],
    },
    async (pool, handle, url) => {
      const client = await listener(url, (text) => handle(JSON.parse(text)));
      return {
        send: (message) =>
          pool.query({ name: "notify", text: "select pg_notify('bench', $1)", values: [JSON.stringify(message)] }),
        stop: () => client.end(),
      };
    },
  ),
  control(
    {
      name: "insert-notify",
      summary: "no queue: a row and a NOTIFY in one statement, and whoever listens reads the row",
      settings: ["what a queue with durable messages and NOTIFY cannot do without: a commit and two wake-ups"],
    },
    async (pool, handle, url) => {
      const read = async (id: string): Promise<void> => {
        const { rows } = await pool.query<{ message: Numbered }>({
          name: "read",
          text: "select message from bench where id = $1",
          values: [id],
        });
        for (const { message } of rows) handle(message);
      };
      let client: Client | undefined;
      return {
        start: async () => void (client = await listener(url, (id) => void read(id))),
        send: (message) =>
          pool.query({
            name: "insert",
            text: "with inserted as (insert into bench (message) values ($1) returning id) select pg_notify('bench', id::text) from inserted",
            values: [JSON.stringify(message)],
          }),
        stop: async () => client?.end(),
      };
    },
  ),
];

type Connect = (
  pool: Pool,
  handle: Handle,
  url: string,
) => Promise<{ send: OpenWorker["send"]; start?: () => Promise<void>; stop?: () => Promise<void> }>;

function control(described: Described, connect: Connect): WorkerSystem {
  return {
    ...described,
    makeStore,
    async connect(url, handle) {
      const pool = openPool(url, 10);
      await warm(pool, 10);
      const { send, start, stop } = await connect(pool, handle, url);
      return {
        start: async () => start?.(),
        send,
        async stop() {
          await stop?.();
          await pool.end();
        },
      };
    },
  };
}

function makeStore(place: Place): Promise<Store> {
  return storeIn(place, async ({ store }) => {
    await store.admin.query("create table bench (id bigint generated always as identity primary key, message json)");
    return { ...store, send: async () => undefined, unsettled: async () => 0 };
  });
}

async function listener(url: string, heard: (payload: string) => void): Promise<Client> {
  const client = new Client({ connectionString: url });
  client.on("error", () => undefined).on("notification", ({ payload }) => heard(payload ?? ""));
  await client.connect();
  await client.query("listen bench");
  return client;
}

/**
 * The table of a segment without the queue around it: the same columns, defaults and index, and a sequence for what the queue's
 * functions fill in.
 */
export const rawTable = `
  create schema raw;
  create sequence raw.message_seq;
  create table raw.message (like pgque.message_1 including all) with (autovacuum_enabled = off);
  alter table raw.message
    alter seq set default nextval('raw.message_seq'),
    alter id set default currval('raw.message_seq')`;

/**
 * The same for COPY, with defaults that let it fill page after page: it inserts row by row when one is volatile and not nextval(), as
 * clock_timestamp() and currval() are.
 */
export const copyTable = `
  create sequence raw.copied_seq;
  create sequence raw.copied_id;
  create table raw.copied (like raw.message including all) with (autovacuum_enabled = off);
  alter table raw.copied
    alter seq set default nextval('raw.copied_seq'),
    alter id set default nextval('raw.copied_id'),
    alter created_at set default now()`;

/** One message: its type and its payload. */
export const rawInsert = {
  name: "insert",
  text:
    "insert into raw.message (seq, id, type, payload, headers) " +
    "values (nextval('raw.message_seq'), currval('raw.message_seq'), $1, $2, null)",
};

/** Many messages: their type and their payloads. Returns their ids, as send_batch does. */
export const rawInsertMany = `
  with inserted as (
    insert into raw.message (type, payload) select $1, m.payload from unnest($2::text[]) as m(payload) returning id
  )
  select array_to_string(array_agg(id), ',') as ids from inserted`;

const type = "default";
const stored = ({ admin }: SendSite) => rowsIn(admin, "raw.message");

export const copy: Sender = {
  name: "copy",
  group: "many",
  summary: "COPY by hand into the plain table: the least that storing these rows takes",
  settings: [
    "pg-copy-streams, text format, one COPY a call, all lines in one write: nothing is faster with this driver",
    "defaults of its table are nextval() and now() alone, so that COPY fills pages; it returns no ids",
  ],
  async open({ admin, pool }) {
    await admin.query(copyTable);
    return {
      stored: () => rowsIn(admin, "raw.copied"),
      send: async (payloads) => {
        const client = await pool.connect();
        try {
          const stream = client.query(copyFrom("copy raw.copied (type, payload) from stdin"));
          stream.end(payloads.map(copyLine).join(""));
          await finished(stream);
        } finally {
          client.release();
        }
      },
    };
  },
};

/** JSON has no raw tabs and line ends; a backslash is the one character of it that the format knows. */
function copyLine(payload: Order): string {
  return `${type}\t${JSON.stringify(payload).replaceAll("\\", "\\\\")}\n`;
}

export const insertMany: Sender = {
  name: "insert",
  group: "many",
  summary: "INSERT … SELECT FROM unnest by hand into the plain table, which returns the ids",
  settings: [
    "what `sendMany` does without a queue: between it and COPY lies the protocol, between it and pgque the queue",
  ],
  open: async (site) => ({
    stored: () => stored(site),
    send: async (payloads) => {
      const values = [type, payloads.map((payload) => JSON.stringify(payload))];
      const { rows } = await site.pool.query<{ ids: string }>(rawInsertMany, values);
      return rows[0]?.ids.split(",").map(BigInt);
    },
  }),
};

export const insertOne: Sender = {
  name: "insert",
  group: "one",
  summary: "a prepared INSERT of the same row into the plain table",
  settings: ["on a pool of pg, as the client is"],
  open: async (site) => ({
    stored: () => stored(site),
    send: ([payload]) => site.pool.query({ ...rawInsert, values: [type, JSON.stringify(payload)] }),
  }),
};

/** No queue: rows that nobody contends for, marked as done one by one. */
function bareUpdate(name: string, synchronousCommit: "on" | "off"): Picker {
  let next = 0;
  return {
    name,
    summary: `no queue: one UPDATE by primary key for each job, which is told beforehand, with synchronous_commit ${synchronousCommit}; for scale, as depesz has it`,
    settings: ["24 connections, as there; nobody looks for a job, nobody waits for another's"],
    connections: 24,
    ordered: false,
    async prepare({ admin }, jobs) {
      next = 0;
      await admin.query(
        "create table job (id bigint primary key, payload text not null, done boolean not null default false)",
      );
      await admin.query(
        "insert into job (id, payload) select n, payload from unnest($1::text[]) with ordinality as job(payload, n)",
        [jobs.map(({ payload }) => payload)],
      );
      await admin.query("vacuum analyze job");
    },
    async worker({ connect }, work) {
      const client = await connect("worker", { synchronousCommit });
      return async () => {
        next += 1;
        const { rows } = await client.query<{ payload: string }>({
          name: "update",
          text: "update job set done = true where id = $1 returning payload",
          values: [next],
        });
        const [job] = rows;
        if (job === undefined) return false;
        work(job.payload);
        return true;
      };
    },
  };
}

export const bareUpdates = [bareUpdate("update-async", "off"), bareUpdate("update-sync", "on")];

/** No queues: the least that parts of one take. */
export const adapter: Adapter = {
  send: [copy, insertMany, insertOne],
  latency: controls,
  rates: controls.filter(({ name }) => name === "insert-notify"),
  pick: bareUpdates,
};
