import { chmod, readFile } from "node:fs/promises";
import { Client } from "pg";
import { expect, test } from "vitest";
import { isAlive } from "../../../test/support/is-alive.ts";
import { until } from "../../../test/support/until.ts";
import { Running } from "./support/pgque.ts";
import { TaskFolder } from "./support/task-folder.ts";

const dev = (folder: TaskFolder, ...args: string[]): Running => new Running(["dev", ...args], {}, folder.path);

async function urlOf(running: Running): Promise<string> {
  await running.says("\nDATABASE_URL=");
  return /DATABASE_URL=(\S+)\n/.exec(running.out)?.[1] ?? "";
}

async function ask(url: string, question: string): Promise<unknown[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(question)).rows;
  } finally {
    await client.end();
  }
}

test("keeps its data and its connection string, is one server at a time, and forgets when told to", async () => {
  const folder = await TaskFolder.create();
  // the server's user, when this one is root, has to reach it
  await chmod(folder.path, 0o711);
  const first = dev(folder);
  const url = await urlOf(first);
  await ask(url, "select pgque.create_queue('orders')");
  expect(await readFile(folder.file(".pgque/.gitignore"), "utf8")).toBe("*\n");

  const another = await dev(folder).ended;
  expect(another).toMatchObject({ code: 1, err: expect.stringContaining("expected no server to run on the data in") });
  expect((await dev(folder, "--reset", "--yes").ended).code).toBe(1);
  first.kill("SIGINT");
  expect(await first.ended).toMatchObject({ code: 0, err: "" });

  const second = dev(folder);
  expect(await urlOf(second)).toBe(url);
  expect(await ask(url, "select name from pgque.queue")).toEqual([{ name: "orders" }]);
  // a crash of the command takes the server with it, and loses nothing
  const pid = Number.parseInt(await readFile(folder.file(".pgque/data/postmaster.pid"), "utf8"), 10);
  second.kill("SIGKILL");
  await second.ended;
  await until(() => !isAlive(pid), "the server is gone");

  expect(await dev(folder, "--reset").ended).toMatchObject({ code: 2, err: expect.stringContaining("--yes") });
  const third = dev(folder);
  expect(await ask(await urlOf(third), "select name from pgque.queue")).toEqual([{ name: "orders" }]);
  third.kill("SIGTERM");
  expect((await third.ended).code).toBe(0);

  const fourth = dev(folder, "--reset", "--yes");
  expect(await ask(await urlOf(fourth), "select name from pgque.queue")).toEqual([]);
  fourth.kill("SIGTERM");
  expect((await fourth.ended).code).toBe(0);
});

test("a command has its URL, its own options and its exit code, and the server ends with it", async () => {
  const folder = await TaskFolder.create();
  await chmod(folder.path, 0o711);
  const script = `console.log(process.env.DATABASE_URL, process.argv.slice(1).join(" ")); process.exitCode = 7`;
  const done = await dev(folder, process.execPath, "-e", script, "--", "--json", "x").ended;
  expect(done).toEqual({ code: 7, out: expect.stringMatching(/^postgres:\S+ --json x\n$/), err: "" });
  expect(await dev(folder, "no such program").ended).toMatchObject({
    code: 1,
    // EACCES: the PATH has a folder into which this user may not look
    err: expect.stringMatching(/"no such program" cannot be started: spawn no such program (ENOENT|EACCES)/),
  });
  const hold = `process.on("SIGTERM", () => { console.log("asked"); process.exit(0); }); console.log("begun"); setInterval(() => {}, 1e3)`;
  const holding = dev(folder, process.execPath, "-e", hold);
  await holding.says("begun");
  holding.kill("SIGTERM");
  expect(await holding.ended).toMatchObject({ code: 0, out: "begun\nasked\n" });
  const pid = Number.parseInt(await readFile(folder.file(".pgque/data/postmaster.pid"), "utf8").catch(() => "0"), 10);
  expect(pid).toBe(0);
});
