import type pg from "pg";
import type { Server } from "./server.ts";

/** A database made for one measurement, and the connections to it. */
export interface BenchDatabase {
  /** Every connection opened by it has the run's `synchronous_commit`. */
  url: string;
  /** Every connection that was opened. */
  clients: pg.Client[];
  /** `synchronous_commit` is the run's unless said otherwise. */
  connect: (role: string, options?: { synchronousCommit?: "on" | "off" }) => Promise<pg.Client>;
  /** A connection that is not among `clients`: whoever asks for it ends it. */
  connectApart: (role: string) => Promise<pg.Client>;
  /** Ends the connections and drops the database. */
  close(): Promise<void>;
}

export async function openDatabase(server: Server, synchronousCommit: "on" | "off"): Promise<BenchDatabase> {
  const database = await server.createDatabase();
  const clients: pg.Client[] = [];
  const url = new URL(server.urlFor(database));
  url.searchParams.set("options", `-c synchronous_commit=${synchronousCommit}`);
  return {
    url: url.href,
    clients,
    connect: async (role, options = {}) => {
      const client = await server.connect(database, role);
      clients.push(client);
      await client.query(`set synchronous_commit = ${options.synchronousCommit ?? synchronousCommit}`);
      return client;
    },
    connectApart: (role) => server.connect(database, role),
    async close() {
      await Promise.all(clients.map((client) => client.end().catch(() => undefined)));
      await server.dropDatabase(database);
    },
  };
}
