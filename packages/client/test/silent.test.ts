import { expect, test } from "vitest";
import { defineQueue, Pgque } from "@pgque/client";
import { Proxy } from "../../../test/support/proxy.ts";
import { until } from "../../../test/support/until.ts";
import { failure, freshClient } from "./support/client.ts";

const { database, pgque } = await freshClient();
const jobs = defineQueue("jobs");
await pgque.ensure(jobs);
await pgque.subscribe(jobs);
const port = Number(new URL(database.url).port);

test("a send on a connection that has gone silent fails when its time is up, and the next one works", async () => {
  await using proxy = await Proxy.start(port);
  await using own = new Pgque({ connectionString: proxy.through(database.url), max: 1 }, { callTimeoutMs: 2000 });
  await own.maintain();
  proxy.goDumb({ serverKnows: true });
  const error = await failure(own.send(jobs, "perhaps"));
  expect(error.code).toBe("CONNECTION_LOST");
  expect(error.message).toContain("within 2000 ms");
  proxy.recover();
  await own.send(jobs, "sent");
  expect((await pgque.receive(jobs)).messages.map(({ payload }) => payload)).toEqual(["sent"]);
});

test("in the caller's transaction it fails too, and so does what is asked after it", async () => {
  await using proxy = await Proxy.start(port);
  await using own = new Pgque(proxy.through(database.url), { callTimeoutMs: 2000 });
  await own.maintain();
  const tx = await own.pool.connect();
  await tx.query("begin");
  proxy.goDumb({ serverKnows: true });
  for (const payload of [1, 2])
    expect((await failure(own.inTransaction(tx).send(jobs, payload))).code).toBe("CONNECTION_LOST");
  tx.release(true);
});

test("a call that had no connection in its time was not sent, and waits in the pool's queue no more", async () => {
  await using own = new Pgque({ connectionString: database.url, max: 1 }, { callTimeoutMs: 2000, retryForMs: 0 });
  await own.maintain();
  const only = await own.pool.connect();
  const late = failure(own.send(jobs, "never"));
  const aborter = new AbortController();
  const aborted = own.send(jobs, "never", { signal: aborter.signal }).catch((error: unknown) => error);
  await until(() => own.pool.waitingCount === 2, "both wait for a connection");
  aborter.abort(new Error("closed"));
  expect(await aborted).toMatchObject({ message: "closed" });
  expect((await late).code).toBe("DATABASE_UNREACHABLE");
  expect(own.pool.waitingCount).toBe(0);
  only.release();
});

test("close ends in its time, whoever has a connection and whatever runs on it", async () => {
  await using proxy = await Proxy.start(port);
  const own = new Pgque(proxy.through(database.url));
  const [asks, forgotten] = [await own.pool.connect(), await own.pool.connect()];
  for (const client of [asks, forgotten]) client.on("error", () => undefined);
  proxy.goDumb({ serverKnows: true });
  const asked = expect(asks.query("select")).rejects.toThrow("Connection terminated");
  await own.close({ timeoutMs: 100 });
  await asked;
  await until(() => proxy.connections === 0, "nothing of it is left");
});
