import { Client } from "pg";
import { Latencies, type LatencySummary } from "../../measure/histogram.ts";
import { serve } from "../../runner/serve.ts";
import { perScale, tpcbRole } from "./tables.ts";

/** What the clients did together. */
export interface TpcbRun {
  transactions: number;
  seconds: number;
  /** Of a transaction, from its BEGIN until its COMMIT has returned. */
  latencyMs: LatencySummary | null;
  clientCpuSeconds: number;
}

/** From 1. */
const random = (max: number): number => 1 + Math.floor(Math.random() * max);

/** As in pgbench. */
const deltaMax = 5000;

/** The transaction of pgbench, a round trip a statement, as `pgbench -M prepared` has it. */
async function transact(client: Client, scale: number): Promise<void> {
  const [aid, bid, tid] = [perScale.accounts, perScale.branches, perScale.tellers].map((rows) => random(rows * scale));
  const delta = random(2 * deltaMax + 1) - deltaMax - 1;
  await client.query("begin");
  await client.query({
    name: "account",
    text: "update tpcb.accounts set abalance = abalance + $1 where aid = $2",
    values: [delta, aid],
  });
  await client.query({ name: "balance", text: "select abalance from tpcb.accounts where aid = $1", values: [aid] });
  await client.query({
    name: "teller",
    text: "update tpcb.tellers set tbalance = tbalance + $1 where tid = $2",
    values: [delta, tid],
  });
  await client.query({
    name: "branch",
    text: "update tpcb.branches set bbalance = bbalance + $1 where bid = $2",
    values: [delta, bid],
  });
  await client.query({
    name: "history",
    text: "insert into tpcb.history (tid, bid, aid, delta, mtime) values ($1, $2, $3, $4, current_timestamp)",
    values: [tid, bid, aid, delta],
  });
  await client.query("commit");
}

let clients: Client[] = [];
let scale = 1;

const methods = {
  async open(options: { url: string; clients: number; scale: number }): Promise<void> {
    scale = options.scale;
    clients = await Promise.all(
      Array.from({ length: options.clients }, async () => {
        const client = new Client({ connectionString: options.url, application_name: tpcbRole });
        // A connection that breaks makes its next query fail; without a listener it would end the process here.
        client.on("error", () => undefined);
        await client.connect();
        return client;
      }),
    );
  },
  /** Each client begins its next transaction as soon as the last one is committed. */
  async run({ seconds }: { seconds: number }): Promise<TpcbRun> {
    const latencies = new Latencies();
    const cpu = process.cpuUsage();
    const startMs = performance.now();
    const endMs = startMs + seconds * 1000;
    let transactions = 0;
    await Promise.all(
      clients.map(async (client) => {
        for (let beganMs = startMs; beganMs < endMs; beganMs = performance.now()) {
          await transact(client, scale);
          latencies.record(performance.now() - beganMs);
          transactions += 1;
        }
      }),
    );
    const { user, system } = process.cpuUsage(cpu);
    return {
      transactions,
      seconds: (performance.now() - startMs) / 1000,
      latencyMs: latencies.summary(),
      clientCpuSeconds: (user + system) / 1_000_000,
    };
  },
  /** A session that ends hands in what it has counted. */
  async close(): Promise<void> {
    await Promise.all(clients.map((client) => client.end()));
  },
};

export type TpcbMethods = typeof methods;

serve(methods);
