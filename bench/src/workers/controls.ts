import { Client, type Pool } from "pg";
import type { Numbered } from "./message.ts";
import { openPool, storeIn, warm } from "./pg-store.ts";
import type { Described, Handle, OpenWorker, Place, Store, WorkerSystem } from "./worker.ts";

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
      const client = await listener(url, (id) => void read(id));
      return {
        send: (message) =>
          pool.query({
            name: "insert",
            text: "with inserted as (insert into bench (message) values ($1) returning id) select pg_notify('bench', id::text) from inserted",
            values: [JSON.stringify(message)],
          }),
        stop: () => client.end(),
      };
    },
  ),
];

type Connect = (
  pool: Pool,
  handle: Handle,
  url: string,
) => Promise<{ send: OpenWorker["send"]; stop?: () => Promise<void> }>;

function control(described: Described, connect: Connect): WorkerSystem {
  return {
    ...described,
    makeStore,
    async connect(url, handle) {
      const pool = openPool(url, 10);
      await warm(pool, 10);
      const { send, stop } = await connect(pool, handle, url);
      return {
        start: async () => undefined,
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
