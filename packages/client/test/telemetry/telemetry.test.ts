import { context, propagation, SpanStatusCode, trace } from "@opentelemetry/api";
import type { ReadableSpan } from "@opentelemetry/sdk-trace";
import { beforeEach, expect, test } from "vitest";
import { defineQueue, Pgque, type Message } from "@pgque/client";
import { contextOf, openTelemetry, processing } from "@pgque/client/opentelemetry";
import { failure, freshClient } from "../support/client.ts";
import { idOf, kindOf, linkedTo, registerSdk, takeSpan, takeSpans } from "./spans.ts";

registerSdk();
const { database, pgque: plain } = await freshClient();
const pool = database.pool();
const pgque = new Pgque(pool, { telemetry: openTelemetry() });
const orders = defineQueue("orders");
await plain.ensure(orders);
await plain.subscribe(orders);
const tracer = trace.getTracer("test");
const server = new URL(database.url);
const common = {
  "messaging.system.name": "pgque",
  "messaging.system": "pgque",
  "server.address": server.hostname,
  "server.port": Number(server.port),
  "db.namespace": server.pathname.slice(1),
  "messaging.destination.name": "orders",
};

beforeEach(async () => {
  for await (const batch of plain.batches(orders)) await batch.ack();
  takeSpans();
});

/** Runs work in a span of the application. */
function inSpan<T>(name: string, work: () => Promise<T>): Promise<{ result: T; span: ReadableSpan }> {
  return tracer.startActiveSpan(name, async (span) => {
    const result = await work();
    span.end();
    return { result, span: span as unknown as ReadableSpan };
  });
}

async function receiveOne(): Promise<Message> {
  const batch = await plain.receive(orders);
  await batch.ack();
  return batch.messages[0] as Message;
}

test("a send is a producer span, and its message carries the span's context", async () => {
  const { result, span: request } = await inSpan("request", () => pgque.send(orders, 1, { type: "placed" }));
  const [span] = takeSpans() as [ReadableSpan];
  expect([span.name, kindOf(span), span.status.code]).toEqual(["send orders", "PRODUCER", SpanStatusCode.UNSET]);
  expect(span.parentSpanContext?.spanId).toBe(idOf(request));
  expect(span.attributes).toStrictEqual({
    ...common,
    "messaging.operation.name": "send",
    "messaging.operation.type": "send",
    "messaging.message.id": result.id,
    "pgque.message.type": "placed",
  });
  const { headers } = await receiveOne();
  expect(headers).toEqual({ traceparent: `00-${span.spanContext().traceId}-${idOf(span)}-01` });
});

test("many messages are sent by one span, whose context each of them carries", async () => {
  await pgque.sendMany(orders, [1, 2, 3]);
  const span = takeSpan();
  expect([span.name, kindOf(span)]).toEqual(["send orders", "PRODUCER"]);
  expect(span.attributes).toMatchObject({ "messaging.batch.message_count": 3 });
  expect(span.attributes).not.toHaveProperty("messaging.message.id");
  const batch = await plain.receive(orders);
  await batch.ack();
  expect(batch.messages.map(({ headers }) => trace.getSpanContext(contextOf({ headers }))?.spanId)).toEqual(
    Array.from({ length: 3 }, () => idOf(span)),
  );
  await pgque.sendMany(orders, []);
  expect(takeSpans()).toEqual([]);
});

test("a stream has a span for each statement, in the context of its caller", async () => {
  const { span: request } = await inSpan("import", () => pgque.sendStream(orders, [1, 2, 3], { batchSize: 2 }));
  const statements = takeSpans().filter(({ name }) => name === "send orders");
  const counts = statements.map(({ attributes }) => Number(attributes["messaging.batch.message_count"]));
  expect(counts.reduce((sum, count) => sum + count, 0)).toBe(3);
  expect(new Set(statements.map((span) => span.parentSpanContext?.spanId))).toEqual(new Set([idOf(request)]));
});

test("what is sent in the caller's transaction carries the context too, and says where the database is", async () => {
  const tx = await database.connect();
  await tx.query("begin");
  await pgque.inTransaction(tx).send(orders, 1);
  await pgque.inTransaction({ query: (statement) => tx.query(statement) }).sendMany(orders, [2]);
  await tx.query("commit");
  const spans = takeSpans();
  expect(spans.map(({ attributes }) => attributes)).toMatchObject([common, common]);
  const batch = await plain.receive(orders);
  await batch.ack();
  expect(batch.messages.map(({ headers }) => trace.getSpanContext(contextOf({ headers }))?.spanId)).toEqual(
    spans.map(idOf),
  );
});

test("headers that the sender gave win, and a context among them is linked and left alone", async () => {
  const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  const baggage = propagation.setBaggage(context.active(), propagation.createBaggage({ tenant: { value: "7" } }));
  await context.with(baggage, () => pgque.send(orders, 1, { headers: { traceparent, tenant: "a" } }));
  const span = takeSpan();
  expect([kindOf(span), linkedTo(span)]).toEqual(["CLIENT", ["b7ad6b7169203331"]]);
  expect((await receiveOne()).headers).toEqual({ traceparent, tenant: "a" });

  await context.with(baggage, () => pgque.send(orders, 2, { headers: { traceparent: 42, baggage: "mine" } }));
  expect((await receiveOne()).headers).toEqual({ traceparent: 42, baggage: "mine" });
  expect([kindOf(takeSpan())]).toEqual(["PRODUCER"]);
});

test("headers that the queue gives by default win as well", async () => {
  const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  await pgque.send(defineQueue("orders", { defaults: { headers: { traceparent } } }), 1);
  expect((await receiveOne()).headers).toEqual({ traceparent });
});

test("baggage travels with the message", async () => {
  const baggage = propagation.createBaggage({ tenant: { value: "7" } });
  await context.with(propagation.setBaggage(context.active(), baggage), () => pgque.send(orders, 1));
  const message = await receiveOne();
  const tenant = await processing(pgque, orders, message, () => propagation.getActiveBaggage()?.getEntry("tenant"));
  expect(tenant?.value).toBe("7");
});

test("a receive is linked to the span that sent each message, and there is none when nothing was there", async () => {
  await pgque.receive(orders);
  expect(takeSpans()).toEqual([]);
  const { id } = await pgque.send(orders, 1);
  await plain.send(orders, 2);
  await pgque.sendMany(orders, [3]);
  const [first, second] = takeSpans() as [ReadableSpan, ReadableSpan];
  await using batch = await pgque.receive(orders);
  const span = takeSpan();
  expect([span.name, kindOf(span), linkedTo(span)]).toEqual(["receive orders", "CLIENT", [idOf(first), idOf(second)]]);
  expect(span.links[0]?.attributes).toEqual({ "messaging.message.id": id });
  expect(span.attributes).toStrictEqual({
    ...common,
    "messaging.operation.name": "receive",
    "messaging.operation.type": "receive",
    "messaging.consumer.group.name": "default",
    "messaging.batch.message_count": 3,
  });
  expect(span.duration[0] * 1e9 + span.duration[1]).toBeGreaterThan(0);
  await batch.ack();
});

test("settling through a batch says of which queue and consumer, and a lost lease is an error", async () => {
  await plain.sendMany(orders, [1, 2, 3]);
  const batch = await pgque.receive(orders);
  const ids = batch.messages.map((message) => message.id);
  takeSpans();
  await batch.ack(ids.slice(0, 1));
  await batch.nack(ids.slice(1, 2), { retryAfterMs: 0 });
  await batch.settle();
  expect(await pgque.ack(batch.id as string)).toBe(false);
  await expect(pgque.ackStrict(batch.id as string)).rejects.toThrow();
  const spans = takeSpans();
  expect(spans.map(({ name }) => name)).toEqual(["ack orders", "nack orders", "settle orders", "ack", "ack"]);
  expect(new Set(spans.map(kindOf))).toEqual(new Set(["CLIENT"]));
  expect(spans[0]?.attributes).toStrictEqual({
    ...common,
    "messaging.operation.name": "ack",
    "messaging.operation.type": "settle",
    "messaging.consumer.group.name": "default",
    "messaging.batch.message_count": 1,
  });
  expect(spans.map(({ attributes }) => attributes["error.type"])).toEqual([
    undefined,
    undefined,
    undefined,
    "LEASE_LOST",
    "LEASE_LOST",
  ]);
  expect(spans.slice(3).map(({ status }) => status.code)).toEqual([SpanStatusCode.ERROR, SpanStatusCode.ERROR]);
  await plain.maintain();
});

test("a failed send or receive is recorded with the code of its error, which comes through", async () => {
  await failure(pgque.send("missing", 1));
  await failure(pgque.sendMany("missing", [1]));
  await failure(pgque.receive("missing"));
  const spans = takeSpans();
  expect(spans.map(({ name }) => name)).toEqual(["send missing", "send missing", "receive missing"]);
  for (const span of spans) {
    expect(span.attributes).toMatchObject({ "error.type": "QUEUE_NOT_FOUND" });
    expect(span.status).toMatchObject({ code: SpanStatusCode.ERROR, message: expect.stringContaining("missing") });
    expect(span.events.map(({ name }) => name)).toEqual(["exception"]);
  }
  const error = await pgque.receive(orders, { signal: AbortSignal.abort("no longer") }).catch((reason) => reason);
  expect([error, takeSpan().attributes["error.type"]]).toEqual(["no longer", "_OTHER"]);
});

test("a message is processed in the trace of its sender, in every attempt", async () => {
  await pgque.send(orders, 1, { type: "placed" });
  const sender = takeSpan();
  const batch = await plain.receive(orders);
  const [message] = batch.messages as [Message];
  const { span: loop } = await inSpan("loop", () =>
    processing(pgque, orders, message, () => inSpan("charge", async () => undefined), { consumer: "default" }),
  );
  const [charge, process] = takeSpans() as [ReadableSpan, ReadableSpan];
  expect([process.name, kindOf(process)]).toEqual(["process orders", "CONSUMER"]);
  expect(process.spanContext().traceId).toBe(sender.spanContext().traceId);
  expect(process.parentSpanContext?.spanId).toBe(idOf(sender));
  expect(linkedTo(process)).toEqual([idOf(loop)]);
  expect(charge.parentSpanContext?.spanId).toBe(idOf(process));
  expect(process.attributes).toStrictEqual({
    ...common,
    "messaging.operation.name": "process",
    "messaging.operation.type": "process",
    "messaging.consumer.group.name": "default",
    "messaging.message.id": message.id,
    "pgque.message.type": "placed",
    "pgque.message.attempt": 1,
  });

  await batch.nack([message.id], { retryAfterMs: 0 });
  await batch.ack();
  await plain.maintain();
  const again = await receiveOne();
  await processing(pgque, orders, again, () => undefined);
  const retried = takeSpan();
  expect(retried.parentSpanContext?.spanId).toBe(idOf(sender));
  expect(retried.attributes["pgque.message.attempt"]).toBe(2);
});

test("with `process: link` it has a trace of its own, linked to the sender's", async () => {
  const linking = new Pgque(pool, { telemetry: openTelemetry({ process: "link" }) });
  await linking.send(orders, 1);
  const sender = takeSpan();
  const message = await receiveOne();
  await processing(linking, orders, message, () => undefined);
  const root = takeSpan();
  expect(root.parentSpanContext).toBeUndefined();
  expect(root.spanContext().traceId).not.toBe(sender.spanContext().traceId);
  expect(linkedTo(root)).toEqual([idOf(sender)]);
  const { span: loop } = await inSpan("loop", () => processing(linking, orders, message, () => undefined));
  const [child] = takeSpans() as [ReadableSpan];
  expect([child.parentSpanContext?.spanId, linkedTo(child)]).toEqual([idOf(loop), [idOf(sender)]]);
});

test("a message without a context is processed in the span that is active", async () => {
  await plain.send(orders, 1, { headers: { traceparent: ["not", "one"] } });
  const message = await receiveOne();
  const { span: loop } = await inSpan("loop", () => processing(pgque, orders, message, () => undefined));
  const [span] = takeSpans() as [ReadableSpan];
  expect([span.parentSpanContext?.spanId, span.links]).toEqual([idOf(loop), []]);
});

test("what a handler throws is recorded and comes through", async () => {
  await plain.send(orders, 1);
  const message = await receiveOne();
  const declined = new TypeError("card declined");
  await expect(
    processing(pgque, orders, message, () => {
      throw declined;
    }),
  ).rejects.toBe(declined);
  const span = takeSpan();
  expect(span.attributes["error.type"]).toBe("TypeError");
  expect(span.status).toEqual({ code: SpanStatusCode.ERROR, message: "card declined" });
});

test("an option that is wrong is refused", async () => {
  expect((await failure(() => openTelemetry({ process: "parent" as "child" }))).code).toBe("INVALID_OPTION");
  const message = { id: "1", type: "default", attempt: 1, headers: {} };
  const refused = processing(pgque, orders, message, () => undefined, { consumer: "" });
  expect((await failure(refused)).message).toContain("`consumer`");
  expect((await failure(() => new Pgque(pool, { telemetry: {} as never }))).message).toContain("openTelemetry()");
});
