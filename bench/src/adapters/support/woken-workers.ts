import { Client } from "pg";
import type { Numbered } from "../../load/messages.ts";
import type { Described, Handle, OpenWorker, WorkerSystem } from "../adapter.ts";
import { connectionsOf, openPool, rowsIn, storeIn, warm } from "./pg-store.ts";
import { steadyPlansOptions } from "./table.ts";

/** A queue that is one table with a column `payload`. */
interface WokenQueue extends Described {
  /** Makes the table. */
  schema: string;
  table: string;
  /** Takes the most messages to claim, returns ids and payloads. */
  claim: string;
  /** Takes ids. */
  finish: string;
}

/** As many as a worker of Pgque receives at once, and how often it looks though nothing has woken it. */
const [batch, pollMs] = [20, 5000];

/** Workers that are woken by a NOTIFY in every INSERT: what somebody would write by hand. */
export function wokenWorkers({ schema, table, claim, finish, ...described }: WokenQueue): WorkerSystem {
  return {
    ...described,
    makeStore: (place) =>
      storeIn(place, async ({ store, pool }) => {
        await store.admin.query(schema);
        const insert = `insert into ${table} (payload) select unnest($1::text[])`;
        return {
          ...store,
          send: (messages) => pool.query(insert, [messages.map((message) => JSON.stringify(message))]),
          unsettled: () => rowsIn(store.admin, table),
        };
      }),
    connect: (url, handle, workers = 1) => connect(url, handle, workers, { table, claim, finish }),
  };
}

async function connect(
  url: string,
  handle: Handle,
  workers: number,
  { table, claim, finish }: Pick<WokenQueue, "table" | "claim" | "finish">,
): Promise<OpenWorker> {
  const claimUrl = new URL(url);
  claimUrl.searchParams.set("options", `-c synchronous_commit=off ${steadyPlansOptions}`);
  const connections = connectionsOf(workers);
  const [claiming, pool] = [openPool(claimUrl.href, connections), openPool(url, connections)];
  await Promise.all([warm(claiming, 1), warm(pool, 4)]);
  const send = `with job as (insert into ${table} (payload) values ($1)) select pg_notify('${channel}', '')`;
  const bell = new Bell(url);
  let receives = 0;
  const work = async (): Promise<void> => {
    while (!bell.isStopped) {
      const { rings } = bell;
      const { rows } = await claiming.query<[string, string]>({
        name: "claim",
        text: claim,
        values: [batch],
        rowMode: "array",
      });
      receives += 1;
      for (const [, payload] of rows) handle(JSON.parse(payload) as Numbered);
      if (rows.length > 0) await pool.query({ name: "finish", text: finish, values: [rows.map(([id]) => id)] });
      if (rows.length < batch) await bell.next(rings);
    }
  };
  let working: Promise<unknown> = Promise.resolve();
  return {
    async start() {
      await bell.start();
      working = Promise.all(Array.from({ length: workers }, work));
    },
    send: (message) => pool.query({ name: "send", text: send, values: [JSON.stringify(message)] }),
    receives: () => receives,
    async stop() {
      await bell.stop();
      await working;
      await Promise.all([claiming.end(), pool.end()]);
    },
  };
}

const channel = "bench";

/** Each notification wakes one of the workers that sleep. */
class Bell {
  /** How many notifications have come. */
  rings = 0;
  isStopped = false;
  readonly #client: Client;
  readonly #sleeping = new Set<() => void>();

  constructor(url: string) {
    this.#client = new Client({ connectionString: url });
    this.#client.on("error", () => undefined).on("notification", () => this.#ring());
  }

  /** Listens from now on. */
  async start(): Promise<void> {
    await this.#client.connect();
    await this.#client.query(`listen ${channel}`);
  }

  /** Resolves at the next ring or poll, or immediately when one has come that is not in `since`. */
  async next(since: number): Promise<void> {
    if (this.rings !== since || this.isStopped) return;
    await new Promise<void>((resolve) => {
      const wake = (): void => {
        clearTimeout(timer);
        this.#sleeping.delete(wake);
        resolve();
      };
      const timer = setTimeout(wake, pollMs);
      this.#sleeping.add(wake);
    });
  }

  async stop(): Promise<void> {
    this.isStopped = true;
    for (const wake of this.#sleeping) wake();
    await this.#client.end();
  }

  #ring(): void {
    this.rings += 1;
    const [wake] = this.#sleeping;
    wake?.();
  }
}
