import type { Client } from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ownServer, type OwnServer } from "../../../test/support/database.ts";
import { until } from "../../../test/support/until.ts";
import { makeQueue, send } from "../support/queue.ts";

// The queue of notifications belongs to the cluster: any login can keep it from being read.

let server: OwnServer;
let a: Client;
let stranger: Client;
let sleeper: Client;
beforeAll(async () => {
  server = await ownServer({ major: 18, settings: { max_notify_queue_pages: "64" } });
  [a, stranger, sleeper] = [await server.connect(), await server.connect(), await server.connect()];
  await makeQueue(a);
});
afterAll(() => server.drop());

const usage = async (): Promise<number> =>
  (await a.query("select pg_notification_queue_usage() as usage")).rows[0].usage;

test("a send commits while somebody sleeps and the queue of notifications is full", async () => {
  let notified = 0;
  sleeper.on("notification", () => (notified += 1));
  await sleeper.query(`listen "pgque_q"`);
  await sleeper.query("select pgque.raise_idle_flag('q')");
  await stranger.query("listen anything");
  await stranger.query("begin; select 1");
  const fill = (): Promise<unknown> =>
    a.query("select pg_notify('anything', repeat('x', 7000) || i) from generate_series(1, 10) as i");
  const fillAll = async (): Promise<void> => {
    for (let i = 0; i < 1000; i++) await fill();
  };
  await expect(fillAll()).rejects.toMatchObject({ code: "54000" });
  expect(await usage()).toBeGreaterThan(0.5);
  for (let i = 0; i < 100; i++) await send(a, "message");
  expect(notified).toBe(0);
  await stranger.query("commit");
  await until(async () => (await usage()) < 0.5, "the queue of notifications has been read");
  await send(a, "wakes again");
  await until(() => notified > 0, "the sleeper is notified");
  expect(notified).toBe(1);
});
