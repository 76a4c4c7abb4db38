import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";
import { Pgque } from "@pgque/client";
import type { Worker } from "@pgque/worker";
import { Notifier } from "#src/notify/notifier";
import { afterAll, expect, onTestFinished, test } from "vitest";
import { freshDatabase } from "../../../test/support/database.ts";
import { Proxy } from "../../../test/support/proxy.ts";
import { until } from "../../../test/support/until.ts";
import { freshQueue, makeWorker, silent, startWorker } from "./support/worker.ts";

const database = await freshDatabase();
const pgque = new Pgque(database.pool());
const port = Number(new URL(database.url).port);
afterAll(() => database.drop());

test("schedules are run again after the connections have gone silent", async () => {
  await using proxy = await Proxy.start(port);
  await using own = new Pgque({ connectionString: proxy.through(database.url) });
  const queue = await freshQueue(pgque);
  const schedules = { [`every second of ${queue.name}`]: { cron: "* * * * * *", payload: 1 } };
  const worker = makeWorker(own, queue, () => undefined, { schedules, queryTimeoutMs: 1000 });
  let run = 0;
  worker.on("scheduleRun", () => (run += 1));
  await worker.start();
  await until(() => run > 0, "it runs");
  proxy.goDumb({ serverKnows: true });
  proxy.recover();
  const before = run;
  await until(() => run > before + 1, "it runs again");
  await worker.stop();
});

test("a stop during a start that nobody answers ends in its time, and gives the start up", async () => {
  await using proxy = await Proxy.start(port);
  await using own = new Pgque({ connectionString: proxy.through(database.url), connectionTimeoutMillis: 60_000 });
  proxy.goDumb({ serverKnows: true });
  const worker = makeWorker(own, await freshQueue(pgque), () => undefined, { shutdownTimeoutMs: 100 });
  const starting = worker.start();
  const refused = expect(starting).rejects.toThrow("the worker was stopped before it had started");
  await until(() => proxy.connections > 0, "it connects");
  await worker.stop();
  await refused;
  expect(worker.health().state).toBe("stopped");
  await own.close({ timeoutMs: 0 });
});

const ends: Record<string, (worker: Worker, aborter: AbortController) => unknown> = {
  "a stop": (worker) => worker.stop(),
  "a stop by force": (worker) => worker.stop({ force: true }),
  "its signal": (_, aborter) => aborter.abort(),
};

for (const [how, end] of Object.entries(ends)) {
  test(`a drain and a runOnce that nobody answers before they receive are ended by ${how}, with nothing done`, async () => {
    await using proxy = await Proxy.start(port);
    await using own = new Pgque({ connectionString: proxy.through(database.url), connectionTimeoutMillis: 60_000 });
    proxy.goDumb({ serverKnows: true });
    const worker = makeWorker(own, await freshQueue(pgque), () => undefined, { shutdownTimeoutMs: 100 });
    const aborter = new AbortController();
    const { signal } = aborter;
    const summaries = Promise.all([worker.drain({ signal }), worker.runOnce({ signal })]);
    await until(() => proxy.connections > 0, "it connects");
    await end(worker, aborter);
    const nothing = { done: 0, retried: 0, snoozed: 0, dead: 0, cancelled: 0, released: 0, failures: [] };
    expect(await summaries).toEqual([nothing, nothing]);
    await own.close({ timeoutMs: 0 });
  });
}

/** Forwards to the database; the first notification is lost on its way, as behind a pooler all are. */
async function losingProxy(): Promise<string> {
  let hasLost = false;
  const server = createServer((client) => {
    const upstream = connect(port, "127.0.0.1");
    for (const end of [client, upstream]) end.on("error", () => undefined);
    client.pipe(upstream);
    upstream.on("data", (data) => {
      // the one message whose type is A comes alone, to a session that has nothing to do
      const isLost = !hasLost && data.toString("latin1").startsWith("A");
      hasLost ||= isLost;
      if (!isLost) client.write(data);
    });
    upstream.on("close", () => client.destroy());
    client.on("close", () => upstream.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const url = new URL(database.url);
  url.port = String((server.address() as AddressInfo).port);
  return url.href;
}

test("a worker that has found out that it hears nothing asks again", async () => {
  await using own = new Pgque(await losingProxy());
  const queue = await freshQueue(pgque);
  const said: string[] = [];
  const log = { ...silent, info: (message: string) => void said.push(message) };
  const notifier = new Notifier(own, () => undefined, 100);
  const listener = { queue, options: { queryTimeoutMs: 10_000, log }, wake: () => undefined };
  notifier.join(listener);
  await until(() => said.length > 0, "it has heard nothing");
  expect(said).toEqual(["notifications do not arrive here, the worker polls"]);
  await until(() => notifier.connection !== undefined, "it listens");
  notifier.leave(listener);
});

test("what the pool does to each connection is done to the one that listens, too", async () => {
  const name = "by a connect handler";
  const pool = database.pool();
  pool.on("connect", (client) => void client.query(`set application_name = '${name}'`));
  const worker = await startWorker(new Pgque(pool), await freshQueue(pgque), () => undefined);
  await until(() => worker.health().waiting === "listening", "it listens");
  const { rows } = await (
    await database.connect()
  ).query(
    `select a.application_name from pg_locks l join pg_stat_activity a using (pid)
      where l.locktype = 'advisory' and l.mode = 'ShareLock' and a.datname = current_database()`,
  );
  expect(rows).toEqual([{ application_name: name }]);
});
