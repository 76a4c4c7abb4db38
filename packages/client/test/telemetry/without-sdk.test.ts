import { expect, test } from "vitest";
import { defineQueue, Pgque, type Statement } from "@pgque/client";
import { contextOf, openTelemetry, processing } from "@pgque/client/opentelemetry";
import { failure, freshClient } from "../support/client.ts";

const { database, pgque: plain } = await freshClient();
const observed = new Pgque(database.pool(), { telemetry: openTelemetry() });
const orders = defineQueue("orders");
await plain.ensure(orders);
await plain.subscribe(orders);
const client = await database.connect();

/** What separates the payloads of one receive. */
const separator = /^,[\da-f-]{36},$/;

/** The statements that some calls make, with their values; a batch has another id each time, a receive another separator. */
async function statementsOf(pgque: Pgque): Promise<unknown[]> {
  const statements: unknown[] = [];
  let batchId = "";
  const queryable = {
    query(statement: Statement) {
      const own = (value: unknown): boolean => value === batchId || separator.test(String(value));
      statements.push([statement.text, statement.values?.map((value) => (own(value) ? "its own" : value))]);
      return client.query(statement);
    },
  };
  const operations = pgque.on(queryable);
  await operations.send(orders, 1);
  await operations.send(orders, 2, { headers: { tenant: "a" } });
  await operations.sendMany(orders, [3, 4]);
  await operations.sendStream(orders, [5], { headers: {} });
  const batch = await operations.receive(orders, { worker: "w" });
  expect(batch.messages.map(({ headers }) => headers)).toEqual([{}, { tenant: "a" }, {}, {}, {}]);
  batchId = String(batch.id);
  await batch.ack();
  return statements;
}

test("without an SDK headers and statements are what they are without telemetry", async () => {
  await observed.maintain("orders"); // a client checks the schema at first use
  expect(await statementsOf(observed)).toEqual(await statementsOf(plain));
});

test("without an SDK messages are processed and errors come through", async () => {
  const message = { id: "1", type: "default", attempt: 1, headers: { traceparent: 7 } };
  expect(await processing(observed, orders, message, () => "done")).toBe("done");
  await expect(processing(observed, orders, message, () => Promise.reject(new Error("no")))).rejects.toThrow("no");
  expect((await failure(observed.send("missing", 1))).code).toBe("QUEUE_NOT_FOUND");
  expect(contextOf(message)).toBeDefined();
});

test("without telemetry a message is just processed", async () => {
  const message = { id: "1", type: "default", attempt: 1, headers: {} };
  expect(plain.telemetry).toBeUndefined();
  expect(await processing(plain, "orders", message, async () => "done")).toBe("done");
});
