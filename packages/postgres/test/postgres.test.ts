import { chmodSync, mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { type Major, type PostgresOptions, startPostgres } from "@pgque/postgres";
import { Client } from "pg";
import { afterEach, beforeEach, expect, test } from "vitest";
import { isAlive } from "../../../test/support/is-alive.ts";

// a path with a space and an umlaut in it, and nobody else's files
let folder: string;
const before = process.env["TMPDIR"];
beforeEach(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), "pgque tést "));
  // the server's user, when this one is root, has to reach it
  chmodSync(folder, 0o711);
  process.env["TMPDIR"] = folder;
});
afterEach(() => {
  if (before === undefined) delete process.env["TMPDIR"];
  else process.env["TMPDIR"] = before;
  rmSync(folder, { recursive: true, force: true });
});

async function ask(url: string, question: string): Promise<Record<string, unknown>[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(question)).rows;
  } finally {
    await client.end();
  }
}

test.each<Major>([14, 15, 16, 17, 18])("PostgreSQL %i starts, answers, and leaves nothing behind", async (major) => {
  const server = await startPostgres({ major });
  const { pid = 0 } = server;
  const [row] = await ask(server.url, "select current_setting('server_version_num')::int / 10000 as major");
  expect(row).toEqual({ major });
  await Promise.all([server.stop(), server.stop()]);
  expect({ alive: isAlive(pid), files: readdirSync(folder) }).toEqual({ alive: false, files: [] });
});

test("settings are the server's, and `durable` decides about fsync", async () => {
  const shown = async (options: PostgresOptions): Promise<Record<string, unknown> | undefined> => {
    await using server = await startPostgres(options);
    const [row] = await ask(
      server.url,
      "select current_setting('fsync') as fsync, current_setting('work_mem') as mem, current_setting('cluster_name') as name",
    );
    return row;
  };
  expect(await shown({})).toMatchObject({ fsync: "off" });
  const settings = { work_mem: "7MB", cluster_name: 'it\'s a "name" with spaces' };
  expect(await shown({ durable: true, settings })).toEqual({ fsync: "on", mem: "7MB", name: settings.cluster_name });
});

test("two servers live side by side and ask for their own password", async () => {
  await using one = await startPostgres();
  await using two = await startPostgres();
  expect(one.port).not.toBe(two.port);
  const wrong = new URL(one.url);
  wrong.password = two.password;
  await expect(ask(wrong.href, "select 1")).rejects.toThrow("password authentication failed");
});

test("a restart keeps port and data, also after an immediate stop", async () => {
  await using server = await startPostgres();
  await ask(server.url, "create table kept as select 42 as answer");
  for (const immediate of [false, true]) {
    const { pid, url } = server;
    await server.restart({ immediate });
    expect(server.url).toBe(url);
    expect(server.pid).not.toBe(pid);
    expect(await ask(url, "select answer from kept")).toEqual([{ answer: 42 }]);
  }
});

test("a setting that the server refuses is an error with its words, and the log is kept", async () => {
  const error: Error = await startPostgres({ settings: { shared_buffers: "a lot" } }).then(
    () => new Error("it started"),
    (reason) => reason,
  );
  expect(error.message).toContain('invalid value for parameter "shared_buffers"');
  const [log = "", ...others] = readdirSync(folder);
  expect(others).toEqual([]);
  expect(error.message).toContain(path.join(folder, log));
  expect(readFileSync(path.join(folder, log), "utf8")).toContain("shared_buffers");
});

test("a major that there is no binary of is refused", async () => {
  await expect(startPostgres({ major: 9 as Major })).rejects.toThrow(
    "expected `major` to be one of 14, 15, 16, 17, 18, got: 9",
  );
});

test("a folder without a server in it is no `bin`", async () => {
  await expect(startPostgres({ bin: folder })).rejects.toThrow(
    `expected \`bin\` to be a folder with a PostgreSQL server, got: ${folder}`,
  );
});
