import { readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { freshDatabase } from "../support/database.ts";
import { until } from "../support/until.ts";
import { asRole, freePort, packed, pgque, post, start, statusOf } from "./project.ts";

const installed = packed();

test("the example with Next.js sends in a request, its worker handles it, and SIGTERM ends both", async () => {
  const project = installed("next", "build");
  await using database = await freshDatabase();
  const admin = await database.connect();
  pgque(project, database.url, "queue", "create", "orders-placed");
  await admin.query(readFileSync(path.join(project, "schema.sql"), "utf8"));
  const port = await freePort();
  const variables = { DATABASE_URL: await asRole(project, database, "shop"), NEXT_TELEMETRY_DISABLED: "1" };
  const next = ["node_modules/next/dist/bin/next", "start", "--hostname", "127.0.0.1", "--port", String(port)];
  const server = start(project, next, variables);
  const worker = start(project, ["worker.ts"], variables);
  const url = `http://127.0.0.1:${port}/orders`;
  const receipts = async () =>
    (await admin.query("select order_id from public.receipts order by 1")).rows.map((row) => row.order_id);

  // it has no GET
  await until(async () => server.child.exitCode !== null || (await statusOf(url)) === 405, "it listens", 60_000);
  expect(server.child.exitCode, server.output()).toBe(null);
  expect(await post(url, { item: "" })).toMatchObject([400, {}]);
  expect(await post(url, { item: "tea" }), server.output()).toEqual([202, { orderId: "1" }]);
  await until(async () => (await receipts()).length === 1, "the order has its receipt", 60_000);

  for (const { child } of [server, worker]) child.kill("SIGTERM");
  // which is what Next.js exits with when it has answered open requests
  expect(await server.closed, server.output()).toEqual([143, null]);
  expect(await worker.closed, worker.output()).toEqual([0, null]);
});
