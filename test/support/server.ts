import { startPostgres, type Major, type PostgresOptions } from "@pgque/postgres";
import { install } from "@pgque/sql";
import { Client } from "pg";
import { memoryFolder } from "./memory.ts";
import type { TestProject } from "vitest/node";

/** Database that every test database is a copy of: the schema `pgque` is installed in it. */
export const template = "pgque_template";

declare module "vitest" {
  interface ProvidedContext {
    /** Connects to the maintenance database of the run's server, as a superuser. */
    serverUrl: string;
    /** When the schema in the template was installed, in milliseconds since 1970. */
    installedAtMs: number;
  }
}

interface TestServer {
  url: string;
  stop(): Promise<void>;
}

/** Settings of every server that tests run on: they wait for events, so nothing needs to be durable or slow. */
export const testSettings = { max_connections: 200, max_prepared_transactions: 20, wal_level: "logical" };

/**
 * One server for the whole run: embedded, or the one of DATABASE_URL, or a container with PGQUE_TEST_SERVER=testcontainers. With
 * PGQUE_TEST_BIN every server of the run is of the programs in that folder.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const server = await testServer();
  try {
    await createTemplate(server.url);
  } catch (error) {
    await server.stop();
    throw error;
  }
  project.provide("serverUrl", server.url);
  project.provide("installedAtMs", Date.now());
  return () => server.stop();
}

async function testServer(): Promise<TestServer> {
  if (process.env["PGQUE_TEST_SERVER"] === "testcontainers") return container();
  const given = process.env["DATABASE_URL"];
  if (given) return { url: given, stop: () => dropTemplate(given) };
  return startPostgres({ ...testServers(), settings: testSettings });
}

/** What every server of a run is started with, unless a test says otherwise. */
export function testServers(bin = process.env["PGQUE_TEST_BIN"]): PostgresOptions {
  const major = Number(process.env["PGQUE_TEST_POSTGRES"] ?? 17) as Major;
  // as installed, with its own defaults: durable, too
  return { ...(bin === undefined ? { major } : { bin, durable: true }), ...inMemory() };
}

async function container(): Promise<TestServer> {
  const { PostgreSqlContainer } = await import("@testcontainers/postgresql");
  const image = process.env["PGQUE_TEST_IMAGE"] ?? "postgres:17";
  const settings = Object.entries(testSettings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  const started = await new PostgreSqlContainer(image).withCommand(["postgres", ...settings]).start();
  return { url: started.getConnectionUri(), stop: async () => void (await started.stop()) };
}

/** Where the servers of tests have their files. */
export function inMemory(): { parent?: string } {
  const parent = memoryFolder();
  return parent === undefined ? {} : { parent };
}

/** Creates the template anew in a server. */
export async function createTemplate(url: string): Promise<void> {
  await dropTemplate(url);
  await asAdmin(url, (admin) => admin.query(`create database ${template}`));
  const client = new Client({ connectionString: databaseUrl(url, template) });
  await client.connect();
  try {
    await install(client);
  } finally {
    await client.end();
  }
}

async function dropTemplate(url: string): Promise<void> {
  await asAdmin(url, (admin) => admin.query(`drop database if exists ${template} with (force)`));
}

export async function asAdmin<T>(url: string, work: (admin: Client) => Promise<T>): Promise<T> {
  const admin = new Client({ connectionString: url });
  await admin.connect();
  try {
    return await work(admin);
  } finally {
    await admin.end();
  }
}

export function databaseUrl(url: string, database: string): string {
  const parsed = new URL(url);
  parsed.pathname = `/${database}`;
  return parsed.href;
}
