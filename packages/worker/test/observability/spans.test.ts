import { trace } from "@opentelemetry/api";
import type { ReadableSpan } from "@opentelemetry/sdk-trace";
import { Pgque } from "@pgque/client";
import { openTelemetry } from "@pgque/client/opentelemetry";
import { done, type Middleware } from "@pgque/worker";
import { expect, test } from "vitest";
import { exporter, idOf, kindOf, linkedTo, registerSdk, takeSpans } from "../../../client/test/telemetry/spans.ts";
import { freshDatabase } from "../../../../test/support/database.ts";
import { until } from "../../../../test/support/until.ts";
import { freshQueue, makeWorker } from "../support/worker.ts";

registerSdk();
const database = await freshDatabase();
const pgque = new Pgque(database.pool(), { telemetry: openTelemetry() });

/** The spans of a worker from its start to the end of `stop()`, once it has settled something. */
async function spansOf(worker: ReturnType<typeof makeWorker>): Promise<ReadableSpan[]> {
  let settled = 0;
  worker.on("settled", ({ isFinished }) => void (settled += Number(isFinished)));
  await worker.start();
  await until(() => settled > 0, "a batch is settled");
  await worker.stop();
  return takeSpans();
}

const named = (spans: ReadableSpan[], name: string): ReadableSpan[] => spans.filter((span) => span.name === name);

test("a worker's spans: receive, process in the sender's trace with middleware inside, and a settle that says whose", async () => {
  const queue = await freshQueue(pgque);
  await pgque.send(queue, 1);
  const [sender] = takeSpans() as [ReadableSpan];
  const inside: (string | undefined)[] = [];
  const looking: Middleware = (_messages, _context, next) => {
    inside.push(trace.getActiveSpan()?.spanContext().spanId);
    return next();
  };
  const spans = await spansOf(makeWorker(pgque, queue, () => undefined, { middleware: [looking] }));
  const [process] = named(spans, `process ${queue.name}`) as [ReadableSpan];
  expect([kindOf(process), process.parentSpanContext?.spanId]).toEqual(["CONSUMER", idOf(sender)]);
  expect(inside).toEqual([idOf(process)]);
  expect(named(spans, `receive ${queue.name}`).map(linkedTo)).toEqual([[idOf(sender)]]);
  const [settle] = named(spans, `settle ${queue.name}`) as [ReadableSpan];
  expect(settle.attributes).toMatchObject({
    "messaging.destination.name": queue.name,
    "messaging.consumer.group.name": "default",
  });
});

test("a batch has one span, linked to the span that sent each of its messages", async () => {
  const queue = await freshQueue(pgque);
  await pgque.send(queue, 1);
  await pgque.sendMany(queue, [2, 3]);
  const [one, two] = takeSpans() as [ReadableSpan, ReadableSpan];
  const handler = (): void => trace.getTracer("test").startSpan("inside").end();
  const spans = await spansOf(makeWorker(pgque, queue, handler, { batch: true }));
  const [process, ...more] = named(spans, `process ${queue.name}`) as [ReadableSpan];
  expect(more).toEqual([]);
  expect([kindOf(process), linkedTo(process)]).toEqual(["CONSUMER", [idOf(one), idOf(two), idOf(two)]]);
  expect(process.attributes).toMatchObject({
    "messaging.operation.type": "process",
    "messaging.consumer.group.name": "default",
    "messaging.batch.message_count": 3,
  });
  expect(named(spans, "inside").map((span) => span.parentSpanContext?.spanId)).toEqual([idOf(process)]);
});

test("an ack in a transaction says whose it is, and a batch that throws is recorded", async () => {
  const queue = await freshQueue(pgque, { maxRetries: 0 });
  await pgque.send(queue, 1);
  const spans = await spansOf(makeWorker(pgque, queue, () => undefined, { transactional: true }));
  expect(named(spans, `ack ${queue.name}`).map(({ attributes }) => attributes)).toMatchObject([
    { "messaging.consumer.group.name": "default" },
  ]);

  await pgque.send(queue, 2);
  exporter.reset();
  const failing = makeWorker(pgque, queue, async () => void (await Promise.reject(new TypeError("no"))), {
    batch: true,
  });
  const [process] = named(await spansOf(failing), `process ${queue.name}`) as [ReadableSpan];
  expect(process.attributes["error.type"]).toBe("TypeError");
});

test("a call has a span around its send, and a step that is done has one inside of its handler's", async () => {
  const queue = await freshQueue(pgque);
  const worker = makeWorker(
    pgque,
    queue,
    async (_message, { attempt, step }) => {
      await step("charge", () => trace.getTracer("test").startSpan("inside").end());
      await step("mail", () => {
        if (attempt === 1) throw new TypeError("no");
      });
      return done("sent");
    },
    { retryMinMs: 1 },
  );
  await worker.start();
  expect(await pgque.call(queue, 1)).toBe("sent");
  await worker.stop();
  const spans = takeSpans();

  const [call] = named(spans, `call ${queue.name}`) as [ReadableSpan];
  expect([kindOf(call), call.attributes]).toMatchObject([
    "INTERNAL",
    { "messaging.destination.name": queue.name, "messaging.consumer.group.name": "default" },
  ]);
  const [send] = named(spans, `send ${queue.name}`) as [ReadableSpan];
  expect(send.parentSpanContext?.spanId).toBe(idOf(call));

  const processes = named(spans, `process ${queue.name}`).map(idOf);
  expect(processes.length).toBe(2);
  const parents = (name: string): (string | undefined)[] =>
    named(spans, name).map((span) => span.parentSpanContext?.spanId);
  expect(parents("step charge")).toEqual([processes[0]]); // the second attempt has its result
  expect(parents("inside")).toEqual(named(spans, "step charge").map(idOf));
  expect(parents("step mail")).toEqual(processes);
  expect(named(spans, "step mail").map(({ attributes }) => attributes)).toMatchObject([
    { "pgque.step.name": "mail", "error.type": "TypeError" },
    { "pgque.step.name": "mail" },
  ]);
});
