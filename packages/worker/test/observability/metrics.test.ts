import { defineQueue, Pgque } from "@pgque/client";
import { collectMetrics, type MetricsOptions } from "@pgque/worker/metrics";
import { Registry } from "prom-client";
import { expect, onTestFinished, test } from "vitest";
import { freshDatabase } from "../../../../test/support/database.ts";
import { until } from "../../../../test/support/until.ts";
import { closedPort, Proxy } from "../../../../test/support/proxy.ts";
import { freshQueue, gate, makeWorker } from "../support/worker.ts";

const database = await freshDatabase();
const pgque = new Pgque(database.pool());

function collect(workers: Parameters<typeof collectMetrics>[0], options: MetricsOptions = {}): Registry {
  const registry = new Registry();
  const collected = collectMetrics(workers, { registry, ...options });
  onTestFinished(() => collected.stop());
  return registry;
}

/** The samples of a scrape, by name and labels; without the buckets of histograms. */
async function scrape(registry: Registry): Promise<Record<string, number>> {
  const lines = (await registry.metrics())
    .split("\n")
    .filter((line) => /^[a-z]/.test(line) && !line.includes("_bucket"));
  return Object.fromEntries(lines.map((line) => [line.replace(/ \S+$/, ""), Number(line.split(" ").at(-1))]));
}

test("a scrape says what the workers of each consumer have done, together", async () => {
  const queue = await freshQueue(pgque, { maxRetries: 0 });
  await pgque.subscribe(queue, "audit");
  const handle = ({ payload }: { payload: unknown }): void => {
    if (payload === "bad") throw new Error("no");
  };
  const workers = ["default", "default", "audit"].map((consumer) => makeWorker(pgque, queue, handle, { consumer }));
  const registry = collect(workers);
  await pgque.sendMany(queue, ["a", "b", "bad"]);
  await Promise.all(workers.map((worker) => worker.start()));
  const of = (name: string, consumer: string, more = ""): string =>
    `pgque_${name}{queue="${queue.name}",consumer="${consumer}"${more}}`;
  const isSettled = (samples: Record<string, number>): boolean =>
    ["default", "audit"].every(
      (consumer) =>
        samples[of("messages_held", consumer)] === 0 &&
        samples[of("messages_handled_total", consumer, ',outcome="done"')] === 2 &&
        (samples[of("batches_settled_total", consumer)] ?? 0) > 0,
    );
  await until(async () => isSettled(await scrape(registry)), "all are handled");
  const samples = await scrape(registry);
  for (const consumer of ["default", "audit"]) {
    expect(samples).toMatchObject({
      [of("messages_handled_total", consumer, ',outcome="done"')]: 2,
      [of("messages_handled_total", consumer, ',outcome="dead"')]: 1,
      [of("handler_duration_seconds_count", consumer)]: 3,
      [of("message_age_seconds_count", consumer)]: 3,
      [of("messages_received_total", consumer)]: 3,
      [of("receives_total", consumer, ',result="found"')]: expect.any(Number),
      [of("handlers_running", consumer)]: 0,
      [of("database_up", consumer)]: 1,
    });
  }
  expect([samples[of("workers_ready", "default")], samples[of("workers_ready", "audit")]]).toEqual([2, 1]);
  const text = await registry.metrics();
  expect(text).toContain("# TYPE pgque_messages_handled_total counter");
  expect(text).toContain("# TYPE pgque_handler_duration_seconds histogram");
  expect(text).toContain(`pgque_handler_duration_seconds_bucket{le="+Inf",queue="${queue.name}",consumer="audit"} 3`);
});

test("labels are queue and consumer, and types when they are asked for; never ids", async () => {
  const queue = await freshQueue(pgque);
  const worker = makeWorker(pgque, queue, () => undefined);
  const [plain, typed] = [collect([worker]), collect([worker], { types: true, prefix: "shop_" })];
  await pgque.send(queue, 1, { type: "placed" });
  await worker.start();
  const done = `shop_messages_handled_total{queue="${queue.name}",consumer="default",type="placed",outcome="done"}`;
  await until(async () => (await scrape(typed))[done] === 1, "it is counted by its type");
  const names = (text: string): Set<string> =>
    new Set(Array.from(text.matchAll(/[{,](\w+)="/g), ([, name = ""]) => name));
  expect(names(await plain.metrics())).toEqual(new Set(["queue", "consumer", "outcome", "le", "result"]));
  expect(names(await typed.metrics())).toEqual(new Set(["queue", "consumer", "outcome", "le", "result", "type"]));
});

test("while handlers run they are counted, and the longest is timed", async () => {
  const queue = await freshQueue(pgque);
  const { open, passed } = gate();
  onTestFinished(open);
  const worker = makeWorker(pgque, queue, () => passed, { concurrency: 1, prefetch: 3 });
  const registry = collect([worker]);
  const of = (name: string): string => `pgque_${name}{queue="${queue.name}",consumer="default"}`;
  await pgque.sendMany(queue, [1, 2, 3]);
  await worker.start();
  await until(async () => (await scrape(registry))[of("messages_held")] === 3, "it holds three");
  const samples = await scrape(registry);
  expect(samples[of("handlers_running")]).toBe(1);
  expect(samples[of("handler_oldest_seconds")]).toBeGreaterThanOrEqual(0);
});

test("queues are asked about when that is wanted: depth and lag of every consumer, dead letters, what is delayed", async () => {
  const queue = await freshQueue(pgque);
  await pgque.subscribe(queue, "slow");
  const worker = makeWorker(pgque, queue, () => undefined);
  const registry = collect([worker], { queues: true });
  await pgque.sendMany(queue, [1, 2]);
  await pgque.send(queue, 3, { delayMs: 3_600_000 });
  const samples = await scrape(registry);
  const ofConsumer = (name: string): string => `pgque_consumer_${name}{queue="${queue.name}",consumer="slow"}`;
  expect(samples).toMatchObject({
    [ofConsumer("depth")]: 2,
    [ofConsumer("lag_seconds")]: expect.any(Number),
    [ofConsumer("in_flight")]: 0,
    [`pgque_queue_delayed{queue="${queue.name}"}`]: 1,
    [`pgque_queue_dead_letters{queue="${queue.name}"}`]: 0,
    pgque_status_up: 1,
  });
});

test("a database that does not answer costs a scrape its time limit, and what it would have said", async () => {
  const { port } = new URL(database.url);
  await using proxy = await Proxy.start(Number(port));
  await using client = new Pgque(proxy.through(database.url), { retryForMs: 0 });
  const queue = await freshQueue(client);
  await using worker = makeWorker(client, queue, () => undefined);
  const registry = collect([worker], { queues: true, queuesTimeoutMs: 50 });
  await worker.start();
  proxy.goDumb({ serverKnows: true });
  const samples = await scrape(registry);
  expect(samples["pgque_status_up"]).toBe(0);
  expect(Object.keys(samples).filter((name) => name.startsWith("pgque_consumer_"))).toEqual([]);
  expect(samples[`pgque_handlers_running{queue="${queue.name}",consumer="default"}`]).toBe(0);

  proxy.target = closedPort;
  proxy.recover();
  proxy.cut();
  const up = `pgque_database_up{queue="${queue.name}",consumer="default"}`;
  await until(async () => (await scrape(registry))[up] === 0, "the loss is seen");
  proxy.target = Number(port);
  await until(async () => (await scrape(registry))[up] === 1, "the return is seen");
});

test("stopped, it leaves nothing in the registry and counts no more", async () => {
  const queue = await freshQueue(pgque);
  const worker = makeWorker(pgque, queue, () => undefined);
  const registry = new Registry();
  const collected = collectMetrics([worker], { registry, queues: true });
  collected.stop();
  collected.stop();
  expect(await registry.metrics()).toBe("\n");
  collectMetrics([worker], { registry })[Symbol.dispose]();
});

test("what is wrong is refused, a second collection into one registry too", async () => {
  const queue = await freshQueue(pgque);
  const worker = makeWorker(pgque, queue, () => undefined);
  const registry = collect([worker]);
  expect(() => collectMetrics([worker], { registry })).toThrow("collect all workers in one call");
  const wrong = { registry: new Registry(), prefix: "9", queuesTimeoutMs: 0 };
  expect(() => collectMetrics([{}] as never, wrong)).toThrow(
    /expected `workers`.*expected `prefix`.*expected `queuesTimeoutMs` to be an integer from 1 to 60000, got: 0/,
  );
});

test("a queue that is not there, yet or any more, costs the others nothing", async () => {
  const [queue, dropped] = [await freshQueue(pgque), await freshQueue(pgque)];
  const workers = [queue, dropped, defineQueue("never-made")].map((of) => makeWorker(pgque, of, () => undefined));
  const registry = collect(workers, { queues: true });
  await pgque.queues.drop(dropped, { force: true });
  const samples = await scrape(registry);
  const asked = Object.keys(samples).filter((name) => name.startsWith("pgque_queue_bytes"));
  expect([samples["pgque_status_up"], asked]).toEqual([1, [`pgque_queue_bytes{queue="${queue.name}"}`]]);
});
