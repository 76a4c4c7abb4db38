import { SamplingDecision, type Sampler } from "@opentelemetry/sdk-trace";
import type { Attributes, Link } from "@opentelemetry/api";
import { expect, test } from "vitest";
import { Pgque } from "@pgque/client";
import { openTelemetry, processing } from "@pgque/client/opentelemetry";
import { freshClient } from "../support/client.ts";
import { registerSdk, takeSpans } from "./spans.ts";

const seen: { name: string; attributes: Attributes; links: number }[] = [];
const sampler: Sampler = {
  shouldSample(_context, _traceId, name, _kind, attributes: Attributes, links: Link[]) {
    seen.push({ name, attributes, links: links.length });
    return { decision: SamplingDecision.NOT_RECORD };
  },
};
registerSdk(sampler);
const { database } = await freshClient();
const pgque = new Pgque(database.pool(), { telemetry: openTelemetry() });

test("a sampler sees attributes and links, and what it drops still carries its context and its decision", async () => {
  await pgque.ensure("orders");
  await pgque.subscribe("orders");
  await pgque.send("orders", 1);
  const batch = await pgque.receive("orders");
  for (const message of batch) await processing(pgque, "orders", message, () => undefined);
  await batch.ack();
  expect(seen.map(({ name, links }) => [name, links])).toEqual([
    ["send orders", 0],
    ["receive orders", 1],
    ["process orders", 0],
    ["settle orders", 0],
  ]);
  for (const { attributes } of seen) {
    expect(attributes).toMatchObject({
      "messaging.system.name": "pgque",
      "messaging.destination.name": "orders",
      "server.address": expect.any(String),
      "server.port": expect.any(Number),
    });
  }
  expect(batch.messages[0]?.headers["traceparent"]).toMatch(/-00$/);
  expect(takeSpans()).toEqual([]);
});
