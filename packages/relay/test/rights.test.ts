import { Pgque } from "@pgque/client";
import { relay } from "@pgque/relay";
import { afterAll, expect, test } from "vitest";
import { freshDatabase } from "../../../test/support/database.ts";
import { until } from "../../../test/support/until.ts";

const database = await freshDatabase();
const admin = await database.connect();
const pgque = new Pgque(database.pool());
const login = `relay_${process.pid}`;
await admin.query(`create role ${login} login password 'secret' in role pgque_reader`);
afterAll(async () => {
  await database.drop();
});

test("a member of pgque_reader can relay, park what is refused, and maintain the queue; one without rights is told", async () => {
  await pgque.ensure("orders");
  await pgque.sendMany("orders", [1, 2, 3]);
  const url = new URL(database.url);
  [url.username, url.password] = [login, "secret"];
  await using reader = new Pgque(url.href);
  const written: string[] = [];
  const sink = {
    open: async () => undefined,
    write: async (messages: readonly { id: string; body: string }[]) => {
      written.push(...messages.map(({ body }) => body));
      return messages.filter(({ body }) => body === "2").map(({ id }) => ({ id, reason: "odd" }));
    },
    close: async () => undefined,
  };
  const running = await relay(reader, "orders", sink, { name: "r" });
  await until(() => running.relayed === 2, "it is relayed");
  await until(async () => (await pgque.deadLetters.list("orders")).length === 1, "one is parked");
  await pgque.send("orders", 4, { delayMs: 50 });
  await until(() => written.includes("4"), "what is delayed is delivered, by its maintenance");
  await running.stop();
  await admin.query(`revoke pgque_reader from ${login}`);
  await expect(relay(reader, "orders", sink, { name: "r" })).rejects.toMatchObject({ code: "ACCESS_DENIED" });
  await admin.query(`drop role ${login}`);
});
