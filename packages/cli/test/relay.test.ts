import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { until } from "../../../test/support/until.ts";
import { freshCli } from "./support/cli.ts";

const cli = await freshCli();
await cli.client.ensure("orders");
const secret = `whsec_${randomBytes(32).toString("base64")}`;
const relay = ["relay", "orders", "--name", "r"];

test("it writes what is sent, says what goes wrong, and stops when it is told to", async () => {
  const bodies: string[] = [];
  let status = 503;
  const server = createServer((request, response) => {
    request.setEncoding("utf8").on("data", (body: string) => void (status < 300 && bodies.push(body)));
    request.on("end", () => response.writeHead(status).end());
  }).listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  await once(server, "listening");
  await cli.client.sendMany("orders", [1, 2, 3]);
  process.env["PGQUE_WEBHOOK_SECRET"] = secret;
  onTestFinished(() => void delete process.env["PGQUE_WEBHOOK_SECRET"]);
  const to = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const running = cli.start(...relay, "--to", to, "--allow-private", "--concurrency", "1", "--retry-max", "100ms");
  await until(() => running.err.includes("the receiver answered 503"), "it says why it waits");
  status = 200;
  await until(() => bodies.length === 3, "all are delivered");
  expect(bodies).toEqual(["1", "2", "3"]);
  running.kill("SIGTERM");
  expect(await running.ended).toMatchObject({ code: 0, out: "", err: expect.stringContaining("relayed=3") });
  expect(running.err).not.toContain(secret.slice(6));
});

test.for([
  [["relay", "orders", "--to", "redis://x"], "required option '--name <name>' not specified"],
  [relay, "expected a destination: --to, or PGQUE_RELAY_TO"],
  [[...relay, "--to", "orders"], "expected --to to be a URL"],
  [[...relay, "--to", "kafka://x"], "expected --to to be a URL: redis://, rediss:// or https://"],
  [[...relay, "--to", "redis://:hunter2@x"], "expected --to without a password"],
  [[...relay, "--to", "https://x.example/"], "expected PGQUE_WEBHOOK_SECRET to be set"],
  [[...relay, "--to", "redis://x", "--timeout", "1s"], "expected no --timeout with redis://"],
  [[...relay, "--to", "https://x.example/", "--max-length", "7"], "expected no --max-length with https://"],
] as const)("%j is refused: %s", async ([args, message]) => {
  const { code, out, err } = await cli.run(...args);
  expect({ code, out, err }).toEqual({ code: 2, out: "", err: expect.stringContaining(`error: ${message}`) });
  expect(err).not.toContain("hunter2");
});

test("a queue that is not there is named", async () => {
  expect(await cli.run("relay", "nowhere", "--name", "r", "--to", "redis://127.0.0.1:1")).toMatchObject({
    code: 1,
    err: expect.stringContaining("queue not found: nowhere"),
  });
});
