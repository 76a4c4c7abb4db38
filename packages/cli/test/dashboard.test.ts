import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { freshCli } from "./support/cli.ts";

const cli = await freshCli();

test("it serves the queues of the database until it is stopped", async () => {
  await cli.client.ensure("orders");
  const running = cli.start("dashboard", "--port", "0", "--base-path", "/a/b");
  await running.says("Ctrl-C stops it.\n");
  const [url = ""] = /http:\S+\/(?=\.)/.exec(running.out) ?? [];
  expect(new URL(url)).toMatchObject({ hostname: "127.0.0.1", pathname: "/a/b/" });
  const page = await fetch(url);
  expect({ status: page.status, text: await page.text() }).toEqual({
    status: 200,
    text: expect.stringContaining("1 queue: nothing waits"),
  });
  running.kill("SIGTERM");
  expect(await running.ended).toMatchObject({ code: 0, err: "" });
});

test("beyond the loopback it wants the hash that it has made of a password", async () => {
  const refused = await cli.run("dashboard", "--host", "0.0.0.0", "--port", "0");
  expect(refused).toMatchObject({ code: 2, out: "" });
  expect(refused.err).toContain("expected a password for a dashboard that listens on 0.0.0.0, found none");

  const hashed = await cli.input("correct horse\n", "dashboard", "--hash-password");
  expect(hashed).toMatchObject({ code: 0, err: "" });
  const folder = mkdtempSync(path.join(os.tmpdir(), "pgque dashboard "));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = path.join(folder, "dashboard.hash");
  writeFileSync(file, hashed.out);
  const running = cli.start("dashboard", "--host", "0.0.0.0", "--port", "0", "--password-file", file);
  await running.says("Ctrl-C stops it.\n");
  const [url = ""] = /http:\S+\/(?=\.)/.exec(running.out) ?? [];
  const authorization = `Basic ${btoa("ada:correct horse")}`;
  expect((await fetch(url)).status).toBe(401);
  expect((await fetch(url, { headers: { authorization } })).status).toBe(200);
  running.kill("SIGTERM");
  await running.ended;
});

test("a short password, a file that is not there and a port in use are named", async () => {
  const short = await cli.input("hunter2", "dashboard", "--hash-password");
  expect(short).toMatchObject({
    code: 2,
    err: expect.stringContaining("expected a password of at least 8 characters"),
  });
  expect(short.err).not.toContain("hunter2");
  const missing = await cli.run("dashboard", "--password-file", "/nowhere/hash");
  expect(missing).toMatchObject({ code: 2, err: expect.stringContaining("expected --password-file to be a file") });
  const running = cli.start("dashboard", "--port", "0");
  await running.says("Ctrl-C stops it.\n");
  const [, port = ""] = /:(\d+)\//.exec(running.out) ?? [];
  const second = await cli.run("dashboard", "--port", port);
  expect(second).toMatchObject({
    code: 1,
    err: expect.stringContaining(`could not serve the dashboard at 127.0.0.1:${port}`),
  });
  running.kill("SIGTERM");
  await running.ended;
});
