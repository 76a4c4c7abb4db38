import { randomBytes } from "node:crypto";
import { startPostgres, type Postgres, type PostgresOptions } from "@pgque/postgres";
import { Client, Pool, type PoolConfig } from "pg";
import { inject } from "vitest";
import { asAdmin, createTemplate, databaseUrl, inMemory, template, testServers, testSettings } from "./server.ts";

/** A database of the test's own, with the schema `pgque` installed. Everything opened through it is closed by `drop()`. */
export interface TestDatabase extends AsyncDisposable {
  url: string;
  connect(): Promise<Client>;
  pool(config?: PoolConfig): Pool;
  drop(): Promise<void>;
}

/** A database on a server of the test's own: for horizons, prepared transactions, roles and crashes. */
export interface OwnServer extends TestDatabase {
  server: Postgres;
  /** Another database on it. */
  fresh(): Promise<TestDatabase>;
}

/** Clones the template on the server of the run. */
export async function freshDatabase(): Promise<TestDatabase> {
  const database = await cloneOn(inject("serverUrl"));
  // maintenance rotates what is ten minutes old before anything else, which no test is about
  if (Date.now() - inject("installedAtMs") > 5 * 60_000) await renew(database.url);
  return database;
}

/** Makes a clone as young as a schema that has just been installed. */
async function renew(url: string): Promise<void> {
  await asAdmin(url, (admin) =>
    admin.query(
      `select setval(s.oid, pgque.pointer_to(pgque.pointer_segment(pg_sequence_last_value(s.oid))))
         from pg_class s
        where s.relnamespace = 'pgque'::regnamespace and s.relkind = 'S' and s.relname like '%pointer'`,
    ),
  );
}

/** Starts a server for this test alone and makes a database on it. `drop()` stops the server. */
export async function ownServer(options: PostgresOptions = {}): Promise<OwnServer> {
  const servers = options.major === undefined && options.bin === undefined ? testServers() : inMemory();
  const server = await startPostgres({ ...servers, ...options, settings: { ...testSettings, ...options.settings } });
  const database = await createTemplate(server.url)
    .then(() => cloneOn(server.url))
    .catch(async (error) => {
      await server.stop();
      throw error;
    });
  const drop = async () => {
    // a prepared transaction keeps a database from being dropped, but not its server from being stopped
    await database.drop().catch(() => undefined);
    await server.stop();
  };
  return { ...database, server, fresh: () => cloneOn(server.url), drop, [Symbol.asyncDispose]: drop };
}

/** Clones the template on a server, which may be one of the test's own. */
export async function cloneOn(serverUrl: string): Promise<TestDatabase> {
  const name = `pgque_test_${randomBytes(6).toString("hex")}`;
  await asAdmin(serverUrl, (admin) => clone(admin, name));
  const url = throughPooler(databaseUrl(serverUrl, name));
  // an empty search_path, so that nothing works by luck
  const config = { connectionString: url, options: "-c search_path=" };
  const opened: { end(): Promise<void> }[] = [];
  const drop = async () => {
    await Promise.allSettled(opened.splice(0).map((connection) => connection.end()));
    await asAdmin(serverUrl, (admin) => admin.query(`drop database if exists ${name} with (force)`));
  };
  return {
    url,
    async connect() {
      const client = new Client(config);
      // a test that stops the server ends its connections too; what matters is what the queries say
      client.on("error", () => undefined);
      await client.connect();
      opened.push(client);
      return client;
    },
    pool(poolConfig = {}) {
      const pool = new Pool({ ...config, ...poolConfig });
      pool.on("error", () => undefined);
      opened.push({ end: () => (pool.ended ? Promise.resolve() : pool.end()) });
      return pool;
    },
    drop,
    [Symbol.asyncDispose]: drop,
  };
}

/** With PGQUE_TEST_POOLER, the host and port of a pooler in front of the server, what a test opens goes through that. */
function throughPooler(url: string): string {
  const pooler = process.env["PGQUE_TEST_POOLER"];
  if (!pooler) return url;
  const parsed = new URL(url);
  parsed.host = pooler;
  return parsed.href;
}

/** Two clones at once collide on the template: one of them has to come again. */
async function clone(admin: Client, name: string): Promise<void> {
  const busy = "55006";
  // half the time of logging every page, which is the default where there is a choice
  const copied = Number((await admin.query("show server_version_num")).rows[0].server_version_num) >= 150_000;
  for (;;) {
    try {
      await admin.query(`create database ${name} template ${template}${copied ? " strategy file_copy" : ""}`);
      return;
    } catch (error) {
      if ((error as { code?: string }).code !== busy) throw error;
    }
  }
}
