import { Pgque } from "@pgque/client";
import { afterAll, expect, test } from "vitest";
import { freshDatabase } from "../../../../test/support/database.ts";
import { Proxy } from "../../../../test/support/proxy.ts";
import { until } from "../../../../test/support/until.ts";
import { freshQueue, gate, startWorker } from "../support/worker.ts";

const database = await freshDatabase();
const pgque = new Pgque(database.pool());
const port = Number(new URL(database.url).port);
afterAll(() => database.drop());

const soon = { lostAfterMs: 200 };

test("a worker whose calls are not answered is not ready before they are given up, and says which", async () => {
  await using proxy = await Proxy.start(port);
  await using own = new Pgque(proxy.through(database.url));
  const queue = await freshQueue(pgque);
  const schedules = { [`every second of ${queue.name}`]: { cron: "* * * * * *", payload: 1 } };
  const options = { schedules, fallbackPollMs: 50, listen: false, queryTimeoutMs: 3_600_000, shutdownTimeoutMs: 0 };
  const worker = await startWorker(own, queue, () => undefined, options);
  await until(() => worker.health(soon).isReady, "it is ready");
  proxy.goDumb({ serverKnows: true });
  await until(() => worker.health(soon).reasons.length >= 2, "both have waited");
  const { isReady, isLive, reasons } = worker.health(soon);
  expect({ isReady, isLive }).toEqual({ isReady: false, isLive: true });
  for (const part of ["receiving", "scheduling"])
    expect(reasons.join("\n")).toMatch(new RegExp(`${part} has waited for an answer of the database for \\d+ s`));
  await own.close({ timeoutMs: 0 });
});

test("a worker that is woken by nobody, because its connection for that cannot be made, is not ready", async () => {
  await using proxy = await Proxy.start(port);
  const pool = database.pool();
  const worker = await startWorker(new Pgque(pool), await freshQueue(pgque), () => undefined, {
    queryTimeoutMs: 1000,
  });
  await until(() => worker.health(soon).waiting === "listening" && worker.health(soon).isReady, "it listens");
  // the next connections beside the pool lead nowhere
  const admin = await database.connect();
  proxy.goDumb({ serverKnows: true });
  Object.assign(pool.options, { connectionString: proxy.through(database.url) });
  await admin.query(
    `select pg_terminate_backend(l.pid) from pg_locks l join pg_stat_activity a using (pid)
      where l.locktype = 'advisory' and l.mode = 'ShareLock' and a.datname = current_database()`,
  );
  await until(
    () => worker.health(soon).reasons.some((reason) => reason.includes("on which it is woken has been missing")),
    "it says so",
  );
});

test("a transactional handler that waits for a connection of the pool makes its worker not ready", async () => {
  const own = new Pgque(database.pool({ max: 2 }));
  const [queue, other] = [await freshQueue(pgque), await freshQueue(pgque)];
  await pgque.send(queue, 1);
  await pgque.send(other, 1);
  const { open, passed } = gate();
  const handler = (): Promise<void> => passed;
  const workers = [
    await startWorker(own, queue, handler, { transactional: true }),
    await startWorker(own, other, handler, { transactional: true }),
  ];
  const reasons = (): string[] => workers.flatMap((worker) => worker.health(soon).reasons);
  const said = /^a handler has waited for a connection of the pool for \d+ s$/;
  // at first it may miss the connection that listens
  await until(() => reasons().length === 1 && said.test(reasons()[0] ?? ""), "one of them waits");
  open();
  await until(() => reasons().length === 0, "both are ready");
});

test("a worker whose consumer was dropped is not ready, at once", async () => {
  const queue = await freshQueue(pgque);
  const worker = await startWorker(pgque, queue, () => undefined, { fallbackPollMs: 50 });
  await pgque.unsubscribe(queue, "default");
  await until(() => !worker.health({ lostAfterMs: 3_600_000 }).isReady, "it knows");
  expect(worker.health({ lostAfterMs: 3_600_000 }).reasons[0]).toContain("consumer not registered");
});
