import { defineQueue, Pgque } from "@pgque/client";
import {
  FencedError,
  type OutgoingMessage,
  type Refusal,
  relay,
  type RelayEvent,
  RefusedError,
  type Sink,
} from "@pgque/relay";
import { expect, test } from "vitest";
import { updatesAndDeletes } from "../../../sql/test/support/statistics.ts";
import { freshDatabase } from "../../../test/support/database.ts";
import { until } from "../../../test/support/until.ts";

const database = await freshDatabase();
const pgque = new Pgque(database.pool());
const admin = await database.connect();
let queues = 0;

async function freshQueue(options: object = {}): Promise<string> {
  const queue = `q${(queues += 1)}`;
  await pgque.ensure(defineQueue(queue, options));
  return queue;
}

/** A destination in memory, that does what it is told first. */
class Memory implements Sink {
  readonly written: OutgoingMessage[] = [];
  readonly writes: string[][] = [];
  opened = 0;
  closed = 0;
  refuse: (message: OutgoingMessage) => string | undefined = () => undefined;
  before: () => Promise<void> | void = () => undefined;

  async open(): Promise<void> {
    this.opened += 1;
  }

  async write(messages: readonly OutgoingMessage[]): Promise<Refusal[]> {
    this.writes.push(messages.map(({ id }) => id));
    await this.before();
    const refused = messages.flatMap((message) => {
      const reason = this.refuse(message);
      return reason === undefined ? [] : [{ id: message.id, reason }];
    });
    const ids = new Set(refused.map(({ id }) => id));
    this.written.push(...messages.filter(({ id }) => !ids.has(id)));
    return refused;
  }

  async close(): Promise<void> {
    this.closed += 1;
  }
}

const bodies = (sink: Memory): unknown[] => sink.written.map(({ body }) => JSON.parse(body) as unknown);
const some = (n: number): number[] => Array.from({ length: n }, (_, i) => i);

test("all messages are written in the order of the queue, and acked, and nothing is updated or deleted", async () => {
  const queue = await freshQueue();
  const sink = new Memory();
  for (const from of [0, 100, 200])
    await pgque.sendMany(
      queue,
      some(100).map((n) => n + from),
    );
  await using running = await relay(pgque, queue, sink, { name: "r", batchSize: 70 });
  await until(() => running.relayed === 300, "all are relayed");
  await pgque.send(queue, 300);
  await until(() => running.relayed === 301, "and what comes later");
  expect(bodies(sink)).toEqual(some(301));
  await running.stop();
  await running.ended;
  expect([sink.opened, sink.closed]).toEqual([1, 1]);
  expect(await pgque.consumers.list(queue)).toMatchObject([{ name: "r", depth: 0, inFlight: 0 }]);
  expect(await updatesAndDeletes(admin)).toEqual([]);
});

test("a relay that was broken off begins with the batch that it had, however often, and no attempt is used", async () => {
  const queue = await freshQueue({ maxRetries: 0 });
  await pgque.sendMany(queue, some(10));
  const sink = new Memory();
  for (let n = 1; n <= 6; n += 1) {
    sink.before = () => new Promise(() => undefined);
    const running = await relay(pgque, queue, sink, { name: "r", batchSize: 5 });
    await until(() => sink.writes.length === n, "it writes");
    await pgque.sendMany(queue, [100]);
    await running.stop({ graceMs: 0 });
  }
  expect(new Set(sink.writes.map(String)).size, "the same contents").toBe(1);
  sink.before = () => undefined;
  await using running = await relay(pgque, queue, sink, { name: "r", batchSize: 5 });
  await until(() => running.relayed === 16, "all are relayed");
  expect(bodies(sink)).toEqual([...some(10), 100, 100, 100, 100, 100, 100]);
  expect(await pgque.deadLetters.list(queue)).toEqual([]);
});

test("an outage is waited out: the same messages again, in their order, and it is told", async () => {
  const queue = await freshQueue({ maxRetries: 0 });
  await pgque.sendMany(queue, some(3));
  const sink = new Memory();
  let failures = 3;
  sink.before = () => {
    if ((failures -= 1) >= 0) throw new Error("no route");
  };
  const events: RelayEvent[] = [];
  const onEvent = (event: RelayEvent): void => void events.push(event);
  await using running = await relay(pgque, queue, sink, { name: "r", retryMaxMs: 150, onEvent });
  await until(() => running.relayed === 3, "all are relayed");
  expect(events).toMatchObject([
    { kind: "outage", attempt: 1, retryMs: 100, error: new Error("no route") },
    { kind: "outage", attempt: 2, retryMs: 150 },
    { kind: "outage", attempt: 3, retryMs: 150 },
    { kind: "recovered", attempt: 4 },
  ]);
  expect(bodies(sink)).toEqual([0, 1, 2]);
});

test("connections that are ended in the middle of anything lose nothing and reorder nothing", async () => {
  const queue = await freshQueue();
  const sink = new Memory();
  await using running = await relay(pgque, queue, sink, { name: "r", batchSize: 7, retryMaxMs: 100 });
  for (let n = 0; n < 30; n += 1) {
    await pgque.on(admin).sendMany(
      queue,
      some(10).map((i) => 10 * n + i),
    );
    await admin.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()",
    );
  }
  await until(() => running.relayed >= 300, "all are relayed");
  // a batch whose ack was lost with its connection comes again
  expect([...new Set(bodies(sink))]).toEqual(some(300));
});

test.for([
  ["park", [0, 2, 3], [{ reason: "odd" }]],
  ["skip", [0, 2, 3], []],
] as const)(
  "with onRefused %s a message that is refused does not hold up the others",
  async ([onRefused, left, dead]) => {
    const queue = await freshQueue();
    await pgque.sendMany(queue, some(4));
    const sink = new Memory();
    sink.refuse = ({ body }) => (body === "1" ? "odd" : undefined);
    const events: RelayEvent[] = [];
    const onEvent = (event: RelayEvent): void => void events.push(event);
    await using running = await relay(pgque, queue, sink, { name: "r", onRefused, onEvent });
    await until(() => running.relayed === 3, "the others are relayed");
    await pgque.send(queue, 4);
    await until(() => running.relayed === 4, "it goes on");
    expect(bodies(sink)).toEqual([...left, 4]);
    expect(events).toMatchObject([{ kind: "refused", reason: "odd" }]);
    expect(await pgque.deadLetters.list(queue)).toMatchObject(dead);
  },
);

test("with onRefused stop it ends, and begins with that message when it is started again", async () => {
  const queue = await freshQueue();
  await pgque.sendMany(queue, some(4));
  const sink = new Memory();
  sink.refuse = ({ body }) => (body === "1" ? "odd" : undefined);
  const running = await relay(pgque, queue, sink, { name: "r", onRefused: "stop" });
  await expect(running.ended).rejects.toThrow(RefusedError);
  await expect(running.ended).rejects.toThrow(/^message \d+ was refused: odd$/);
  sink.refuse = () => undefined;
  await using again = await relay(pgque, queue, sink, { name: "r" });
  await until(() => again.relayed === 1, "it is relayed");
  expect(bodies(sink)).toEqual([0, 2, 3, 1]);
});

test("one that was fenced ends, and its messages are the other's", async () => {
  const queue = await freshQueue();
  await pgque.sendMany(queue, some(2));
  const sink = new Memory();
  sink.before = () => {
    throw new FencedError("r");
  };
  const running = await relay(pgque, queue, sink, { name: "r" });
  await expect(running.ended).rejects.toThrow('another relay named "r" has taken over');
  expect(sink.closed).toBe(1);
  await running.stop();
  await using other = await relay(pgque, queue, new Memory(), { name: "r" });
  await until(() => other.relayed === 2, "the other has them");
});

test("payloads keep their digits, and envelopes are as their standards say", async () => {
  const queue = await freshQueue({ partitions: 2 });
  const payload = '{"n": 12345678901234567890.10, "s": "☾\\u0000"}';
  const options = { key: "k", headers: { traceparent: "00-1-2-01", Tenant: { a: 1 } } };
  await admin.query("select pgque.send($1, 'order.created', $2, $3)", [queue, payload, options]);
  await admin.query("select pgque.send($1, 't', 'no JSON')", [queue]);
  const written: Record<string, OutgoingMessage[]> = {};
  for (const envelope of ["raw", "cloudevents", "debezium"] as const) {
    const sink = new Memory();
    await using running = await relay(pgque, queue, sink, { name: envelope, envelope });
    await until(() => running.relayed === 2, "both are relayed");
    written[envelope] = sink.written.toSorted((a, b) => Number(a.id) - Number(b.id));
  }
  const [raw] = written["raw"] ?? [];
  const time = raw?.createdAt.toISOString();
  const common = { traceparent: "00-1-2-01", tenant: '{"a":1}' };
  expect(raw).toMatchObject({
    key: "k",
    body: payload,
    headers: {
      ...common,
      "content-type": "application/json",
      "pgque-id": raw?.id,
      "pgque-type": "order.created",
      "pgque-time": time,
    },
  });
  expect(written["debezium"]).toMatchObject([
    { body: payload, headers: { ...common, id: raw?.id, type: "order.created" } },
    { body: "no JSON" },
  ]);
  const [event, other] = written["cloudevents"] ?? [];
  expect(event?.headers).toMatchObject({ ...common, "content-type": "application/cloudevents+json; charset=utf-8" });
  expect(event?.body).toContain(`"data":${payload}`);
  expect(JSON.parse(event?.body ?? "")).toEqual({
    specversion: "1.0",
    id: raw?.id,
    source: `/pgque/${queue}`,
    type: "order.created",
    time,
    datacontenttype: "application/json",
    partitionkey: "k",
    traceparent: "00-1-2-01",
    data: JSON.parse(payload) as unknown,
  });
  expect((JSON.parse(other?.body ?? "") as { data: unknown }).data).toBe("no JSON");
});

test("what is wrong is said before anything is opened", async () => {
  const queue = await freshQueue();
  const sink = new Memory();
  const wrong = { envelope: "xml", batchSize: 0, nmae: "r" } as never;
  await expect(relay(pgque, queue, sink, wrong)).rejects.toMatchObject({
    code: "INVALID_OPTION",
    message: expect.stringMatching(
      /expected `envelope` .*`batchSize` .*unknown option `nmae`.*expected `name`, got none/s,
    ),
  });
  await expect(relay(pgque, "nowhere", sink, { name: "r" })).rejects.toMatchObject({ code: "QUEUE_NOT_FOUND" });
  await pgque.subscribe(queue, "shared");
  await expect(relay(pgque, queue, sink, { name: "shared" })).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  expect(sink.opened).toBe(0);
});

test("a queue that is dropped ends it", async () => {
  const queue = await freshQueue();
  const running = await relay(pgque, queue, new Memory(), { name: "r" });
  await pgque.queues.drop(queue, { force: true });
  await expect(running.ended).rejects.toMatchObject({ code: "QUEUE_NOT_FOUND" });
});
