import { readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { freshDatabase } from "../support/database.ts";
import { until } from "../support/until.ts";
import { asRole, freePort, isWaiting, packed, pgque, post, start, statusOf } from "./project.ts";

const installed = packed();

test.each([
  ["express", "check", "server.ts"],
  ["fastify", "check", "server.ts"],
  ["nest", "build", "dist/main.js"],
])(
  "the example %s handles what is sent by HTTP, with the rights that it names, and SIGTERM drains it",
  async (name, script, main) => {
    const project = installed(name, script);
    await using database = await freshDatabase();
    const admin = await database.connect();
    pgque(project, database.url, "queue", "create", "orders-placed");
    await admin.query(readFileSync(path.join(project, "schema.sql"), "utf8"));
    const port = await freePort();
    const server = start(project, [main], {
      DATABASE_URL: await asRole(project, database, "shop"),
      PORT: String(port),
    });
    const url = `http://127.0.0.1:${port}`;
    const isUp = async () => (await statusOf(`${url}/readyz`)) === 200;
    const receipts = async () =>
      (await admin.query("select order_id from public.receipts order by 1")).rows.map((row) => row.order_id);

    await until(async () => server.child.exitCode !== null || (await isUp()), "it is ready", 60_000);
    expect(server.child.exitCode, server.output()).toBe(null);
    expect(await statusOf(`${url}/healthz`)).toBe(200);
    expect(await post(`${url}/orders`, { item: "" })).toMatchObject([400, {}]);
    expect(await post(`${url}/orders`, { item: "tea" })).toEqual([202, { orderId: "1" }]);
    await until(async () => (await receipts()).length === 1, "the first order has its receipt");

    // the second handler waits for a lock while SIGTERM comes
    const holder = await database.connect();
    await holder.query("begin");
    await holder.query("lock table public.receipts in share mode");
    expect(await post(`${url}/orders`, { item: "milk" })).toMatchObject([202, {}]);
    await until(() => isWaiting(admin), "the handler waits");
    server.child.kill("SIGTERM");
    await until(async () => !(await isUp()), "it takes no more requests");
    expect(server.child.exitCode).toBe(null);
    await holder.query("commit");
    expect(await server.closed, server.output()).toEqual([0, null]);
    expect(await receipts()).toEqual(["1", "2"]);
  },
);
