import { once } from "node:events";
import { createServer } from "node:http";
import { connect, type AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { defineQueue } from "@pgque/client";
import { expect, test } from "vitest";
import { freshCli, jsonLines } from "./support/cli.ts";
import { TaskFolder } from "./support/task-folder.ts";
import type { Running } from "./support/pgque.ts";

const { client, run, start } = await freshCli();

async function urlOf(worker: Running): Promise<string> {
  await worker.says('"url":');
  const lines: { url?: string }[] = jsonLines(worker.out.slice(0, worker.out.lastIndexOf("\n")));
  return lines.find(({ url }) => url !== undefined)?.url ?? "";
}

test("--metrics-port serves metrics and probes, and says why it is not ready", async () => {
  const folder = await TaskFolder.create({
    "monitored.js": `export default () => undefined;`,
  });
  const queue = defineQueue("monitored");
  await client.ensure(queue);
  const worker = start("worker", folder.path, "--metrics-port", "0", "--metrics-queues");
  const url = await urlOf(worker);
  await worker.says("worker started");
  await client.send(queue, 1);
  const get = async (page: string) => {
    const response = await fetch(`${url}${page}`);
    return { status: response.status, text: await response.text() };
  };
  expect(await get("/healthz")).toEqual({ status: 200, text: "ok\n" });
  await expect.poll(() => get("/readyz")).toEqual({ status: 200, text: "ok\n" });
  expect((await get("/nothing")).status).toBe(404);
  expect((await fetch(`${url}/metrics`, { method: "POST" })).status).toBe(405);
  await expect
    .poll(async () => (await get("/metrics")).text)
    .toContain('pgque_messages_handled_total{queue="monitored",consumer="default",outcome="done"} 1');
  expect((await get("/metrics")).text).toContain('pgque_queue_dead_letters{queue="monitored"} 0');
  worker.kill("SIGTERM");
  expect((await worker.ended).code).toBe(0);
});

test("no request ends the worker, whatever it asks for", async () => {
  const folder = await TaskFolder.create({ "asked.js": `export default () => undefined;` });
  await client.ensure(defineQueue("asked"));
  const worker = start("worker", folder.path, "--metrics-port", "0");
  const url = await urlOf(worker);
  await worker.says("worker started");
  for (const target of ["//", "///x", "http://[/", "*"]) {
    const socket = connect(Number(new URL(url).port), "127.0.0.1");
    socket.end(`GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
    expect(await text(socket), target).toMatch(/^HTTP\/1\.1 4/);
  }
  expect((await fetch(`${url}/healthz?deep=1`)).status).toBe(200);
  worker.kill("SIGTERM");
  expect((await worker.ended).code).toBe(0);
});

test("while handlers finish it is live and not ready", async () => {
  const folder = await TaskFolder.create({
    "finishing.js": `export default () => new Promise((resolve) => { console.log("begun"); process.on("SIGUSR2", resolve); });`,
  });
  const queue = defineQueue("finishing");
  await client.ensure(queue);
  const worker = start("worker", folder.path, "--metrics-port", "0");
  const url = await urlOf(worker);
  await worker.says("worker started");
  await client.send(queue, 1);
  await worker.says("begun");
  worker.kill("SIGTERM");
  await worker.says("worker stopping");
  const ready = await fetch(`${url}/readyz`);
  expect([ready.status, await ready.text()]).toEqual([503, "queue finishing, consumer default: it is stopping\n"]);
  expect((await fetch(`${url}/healthz`)).status).toBe(200);
  worker.kill("SIGUSR2");
  expect((await worker.ended).code).toBe(0);
});

test("a port in use is named, and no worker starts", async () => {
  const folder = await TaskFolder.create({ "never.js": "export default () => undefined;" });
  const other = createServer().listen(0, "127.0.0.1");
  await once(other, "listening");
  const { port } = other.address() as AddressInfo;
  const { code, out, err } = await run("worker", folder.path, "--metrics-port", String(port));
  other.close();
  expect({ code, out }).toEqual({ code: 1, out: "" });
  expect(err).toContain(`127.0.0.1:${port}: the port is in use`);
  expect(err).toContain("--metrics-port");
  expect((await client.queues.list()).map(({ name }) => name)).not.toContain("never");
});

test.each(["65536", "-1", "http"])("%s is no port", async (port) => {
  const folder = await TaskFolder.create({ "never.js": "export default () => undefined;" });
  expect((await run("worker", folder.path, `--metrics-port=${port}`)).code).toBe(2);
});
