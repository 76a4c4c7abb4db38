import { randomBytes } from "node:crypto";
import { startPostgres, type Major, type Postgres } from "@pgque/postgres";
import type pg from "pg";
import { Client } from "pg";

/** What decides whether it is a server of our own, and how one is set up. */
export interface ServerSettings {
  /** Null: one of our own. */
  databaseUrl: string | null;
  synchronousCommit: "on" | "off";
  autovacuumNaptimeSeconds: number;
}

/** Where the trials run: a server of our own, or one we were given. */
export interface Server {
  /** As in "17.10". */
  version: string;
  major: number;
  embedded: boolean;
  /** Host and port. */
  place: string;
  /** What the server itself says of the settings that matter here. */
  settings: Record<string, string>;
  urlFor(database: string): string;
  connect(database: string, role: string): Promise<Client>;
  createDatabase(): Promise<string>;
  dropDatabase(database: string): Promise<void>;
  /** So that what was written before is not written out during a measurement. Of an embedded server only: on another it is not ours to ask for. */
  checkpoint(): Promise<void>;
  close(): Promise<void>;
}

/** The same for every system, in reports by these names. */
const reported = [
  "fsync",
  "synchronous_commit",
  "full_page_writes",
  "wal_compression",
  "shared_buffers",
  "max_wal_size",
  "checkpoint_timeout",
  "autovacuum",
  "autovacuum_naptime",
  "autovacuum_vacuum_scale_factor",
  "autovacuum_vacuum_cost_limit",
  "autovacuum_vacuum_cost_delay",
  "wal_level",
  "max_prepared_transactions",
  "max_replication_slots",
  "max_wal_senders",
  "jit",
];

/**
 * Starts an embedded server unless one is given. Databases are made on it and dropped again, nothing else is touched.
 *
 * @param major of an embedded one
 * @param more settings that an embedded one is started with besides
 */
export async function openServer(
  { databaseUrl, synchronousCommit, autovacuumNaptimeSeconds }: ServerSettings,
  major: Major,
  more: Record<string, string | number> = {},
): Promise<Server> {
  if (databaseUrl !== null) return describe(databaseUrl, null);
  const embedded = await startPostgres({
    major,
    durable: true,
    settings: {
      synchronous_commit: synchronousCommit,
      shared_buffers: "256MB",
      // four processes of a system that has a connection for each handler
      max_connections: 200,
      // No checkpoint within a trial: none would meet one system and spare another.
      max_wal_size: "4GB",
      checkpoint_timeout: "30min",
      autovacuum_naptime: `${autovacuumNaptimeSeconds}s`,
      autovacuum_vacuum_scale_factor: 0.005,
      autovacuum_vacuum_cost_limit: 10_000,
      jit: false,
      ...more,
    },
  });
  try {
    return await describe(embedded.url, embedded);
  } catch (error) {
    await embedded.stop();
    throw error;
  }
}

async function describe(url: string, embedded: Postgres | null): Promise<Server> {
  const client = await connect(url, "set-up").catch((error: unknown) => {
    const shown = new URL(url);
    shown.password = "";
    throw new Error(`cannot connect to ${shown.href}: ${messageOf(error)}. Is the server running, is the URL right?`, {
      cause: error,
    });
  });
  const { rows } = await client.query<{ name: string; value: string }>(
    "select name, current_setting(name) as value from unnest($1::text[]) as name",
    [[...reported, "server_version_num", "server_version"]],
  );
  await requireCreateDatabase(client);
  const all = Object.fromEntries(rows.map(({ name, value }) => [name, value]));
  const { server_version_num: versionNumber, server_version: version, ...settings } = all;
  const urlFor = (database: string): string => {
    const changed = new URL(url);
    changed.pathname = `/${database}`;
    return changed.href;
  };
  return {
    version: (version ?? "").split(" ")[0] ?? "",
    major: Math.floor(Number(versionNumber) / 10_000),
    embedded: embedded !== null,
    place: new URL(url).host,
    settings,
    urlFor,
    connect: (database, role) => connect(urlFor(database), role),
    async createDatabase() {
      const name = `pgque_bench_${randomBytes(6).toString("hex")}`;
      await client.query(`create database ${name}`);
      return name;
    },
    async dropDatabase(database) {
      await client.query(`drop database if exists ${database} with (force)`);
    },
    async checkpoint() {
      if (embedded !== null) await client.query("checkpoint");
    },
    async close() {
      await client.end();
      await embedded?.stop();
    },
  };
}

async function requireCreateDatabase(client: Client): Promise<void> {
  const { rows } = await client.query<{ role: string; allowed: boolean }>(
    "select rolname as role, rolcreatedb or rolsuper as allowed from pg_roles where rolname = current_user",
  );
  if (rows[0]?.allowed) return;
  await client.end();
  throw new Error(
    `expected role ${rows[0]?.role} to be allowed to create databases, one for each trial: ` +
      `alter role ${rows[0]?.role} createdb, or leave the URL out for an embedded server`,
  );
}

async function connect(connectionString: string, role: string): Promise<Client> {
  const client = new Client({ connectionString, application_name: `pgque bench ${role}` });
  // A connection that breaks makes its next query fail; without a listener it would end the process here.
  client.on("error", () => undefined);
  await client.connect();
  return client;
}

/** Node's error for several refused addresses has an empty message. */
function messageOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(messageOf).join(", ");
  return error instanceof Error ? error.message : String(error);
}

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
