import { metrics } from "@opentelemetry/api";
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
  type DataPoint,
  type Histogram,
} from "@opentelemetry/sdk-metrics";
import { Pgque, type Message } from "@pgque/client";
import { openTelemetry, processing } from "@pgque/client/opentelemetry";
import { expect, test } from "vitest";
import { failure, freshClient } from "../support/client.ts";

const exporter = new InMemoryMetricExporter(AggregationTemporality.DELTA);
const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 });
const { database } = await freshClient();
const pgque = new Pgque(database.pool(), { telemetry: openTelemetry() });
// an SDK may come after the client
metrics.setGlobalMeterProvider(new MeterProvider({ readers: [reader] }));

interface Point {
  metric: string;
  unit: string;
  attributes: DataPoint<unknown>["attributes"];
  /** Of a histogram how many were recorded, of a counter the sum. */
  value: number;
}

/** What was measured since the last look. */
async function measured(): Promise<Point[]> {
  await reader.forceFlush();
  const points = exporter.getMetrics().flatMap(({ scopeMetrics }) =>
    scopeMetrics.flatMap((scope) =>
      scope.metrics.flatMap(({ descriptor: { name, unit }, dataPoints }) =>
        (dataPoints as DataPoint<number | Histogram>[]).map(({ attributes, value }) => ({
          metric: name,
          unit,
          attributes,
          value: typeof value === "number" ? value : value.count,
        })),
      ),
    ),
  );
  exporter.reset();
  return points;
}

/** Metric, operation, and what else tells points apart. */
const brief = (points: Point[]): unknown[] =>
  points.map(({ metric, attributes, value }) => {
    const { "messaging.operation.name": operation, "error.type": error } = attributes;
    return [metric.replace("messaging.", ""), operation, value, ...(error === undefined ? [] : [error])];
  });

test("operations are timed and messages counted, by queue, consumer and operation", async () => {
  await pgque.ensure("orders");
  await pgque.subscribe("orders", "billing");
  await pgque.send("orders", 1);
  await pgque.sendMany("orders", [2, 3]);
  const batch = await pgque.receive("orders", { consumer: "billing" });
  for (const message of batch) await processing(pgque, "orders", message, () => undefined, { consumer: "billing" });
  await batch.ack();
  await pgque.receive("orders", { consumer: "billing" });
  const points = await measured();
  expect(brief(points)).toEqual([
    ["client.operation.duration", "send", 2],
    ["client.operation.duration", "receive", 2],
    ["client.operation.duration", "settle", 1],
    ["process.duration", "process", 3],
    ["client.sent.messages", "send", 3],
    ["client.consumed.messages", "receive", 3],
  ]);
  expect(new Set(points.map(({ metric, unit }) => `${metric} ${unit}`))).toEqual(
    new Set([
      "messaging.client.operation.duration s",
      "messaging.process.duration s",
      "messaging.client.sent.messages {message}",
      "messaging.client.consumed.messages {message}",
    ]),
  );
  const server = new URL(database.url);
  expect(points[1]?.attributes).toEqual({
    "messaging.system.name": "pgque",
    "messaging.system": "pgque",
    "server.address": server.hostname,
    "server.port": Number(server.port),
    "db.namespace": server.pathname.slice(1),
    "messaging.operation.name": "receive",
    "messaging.operation.type": "receive",
    "messaging.destination.name": "orders",
    "messaging.consumer.group.name": "billing",
  });
});

test("what fails is measured with the type of its error, a lost lease too", async () => {
  await failure(pgque.send("missing", 1));
  await failure(pgque.receive("missing"));
  await pgque.ensure("refunds");
  await pgque.subscribe("refunds");
  await pgque.send("refunds", 1);
  const batch = await pgque.receive("refunds");
  const [message] = batch.messages as [Message];
  const declined = processing(pgque, "refunds", message, () => {
    throw new TypeError("declined");
  });
  await expect(declined).rejects.toThrow("declined");
  await batch.ack();
  await pgque.ack(batch.id as string);
  const failed = (await measured()).filter(({ attributes }) => attributes["error.type"] !== undefined);
  expect(brief(failed)).toEqual([
    ["client.operation.duration", "send", 1, "QUEUE_NOT_FOUND"],
    ["client.operation.duration", "receive", 1, "QUEUE_NOT_FOUND"],
    ["client.operation.duration", "ack", 1, "LEASE_LOST"],
    ["process.duration", "process", 1, "TypeError"],
    ["client.sent.messages", "send", 1, "QUEUE_NOT_FOUND"],
  ]);
});
