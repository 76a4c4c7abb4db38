import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { expect, expectTypeOf, test } from "vitest";
import { z } from "zod";
import {
  type Batch,
  defineQueue,
  errorCodes,
  isPgqueError,
  Pgque,
  PgqueError,
  type PgqueErrorCode,
} from "@pgque/client";
import { failure, freshClient } from "./support/client.ts";

const { database, pgque } = await freshClient();
const orders = defineQueue("orders", { payload: z.object({ orderId: z.number() }) });
await pgque.ensure(orders);
await pgque.subscribe(orders);
await pgque.ensure("called");
await pgque.subscribe("called");
await pgque.maintain();

/** What a call fails with when the database raises this. */
function raising(sqlstate: string): Promise<PgqueError> {
  const raise = `do $$ begin raise exception using errcode = '${sqlstate}', message = 'as raised', hint = 'Do this.'; end $$`;
  return failure(pgque.on({ query: () => pgque.pool.query(raise) }).maintain());
}

/** What a call fails with whose message is settled like that. */
async function called(settle: (id: string, batch: Batch) => Promise<unknown>): Promise<PgqueError> {
  await pgque.consumers.seek("called", "default", "latest");
  const failed = failure(pgque.call("called", 1, { result: z.string() }));
  for (;;) {
    const batch = await pgque.receive("called");
    const [message] = batch.messages;
    if (message !== undefined) await settle(message.id, batch);
    if (message !== undefined) return failed;
  }
}

/** One way to each code; the others are in the tests of what they are about. */
const ways: Record<PgqueErrorCode, () => Promise<PgqueError>> = {
  INVALID_OPTION: () => failure(pgque.receive(orders, { max: 0 })),
  INVALID_ARGUMENT: () => failure(pgque.messages.peek(orders, { after: "nonsense" })),
  PAYLOAD_INVALID: () => failure(pgque.send(orders, { orderId: "1" as never })),
  PAYLOAD_NOT_REPARSABLE: () =>
    failure(pgque.send(defineQueue("orders", { payload: z.number().transform((n) => n + 1) }), 1)),
  PAYLOAD_NOT_JSON: () => failure(pgque.send(defineQueue("orders"), 1n)),
  QUEUE_NOT_FOUND: () => failure(pgque.send(defineQueue("nope"), 1)),
  CONSUMER_NOT_FOUND: () => failure(pgque.receive(orders, { consumer: "nobody" })),
  OPTIONS_DIFFER: () => failure(pgque.ensure(defineQueue("orders", { maxRetries: 3 }), { strict: true })),
  NOT_IN_BATCH: () => raising("PQ003"),
  LEASE_LOST: () => raising("PQ006"),
  CALL_TIMEOUT: () => failure(pgque.call("called", 1, { waitMs: 1 })),
  MESSAGE_DEAD: () => called((id, { id: batch }) => pgque.bury(batch as string, [id], "no such order")),
  RESULT_INVALID: () => called((id, { id: batch }) => pgque.ackWithResults(batch as string, [{ id, result: 1 }])),
  ISOLATION_LEVEL: () => raising("PQ005"),
  REPAIR_NEEDED: () => raising("PQ007"),
  SCHEMA_NOT_INSTALLED: () => failure(new Pgque(database.pool(), { schema: "none" }).maintain()),
  SCHEMA_VERSION: () =>
    failure(
      new Pgque(pgque.pool)
        .on({ query: async ({ text }) => ({ rows: [{ only: text.includes("version()") ? "9.0.0" : true }] }) })
        .maintain(),
    ),
  ACCESS_DENIED: () => raising("42501"),
  DATABASE_UNREACHABLE: () => raising("57P03"),
  READ_ONLY: () => raising("25006"),
  CONNECTION_LOST: () => raising("57P01"),
  CLOSED: async () => {
    const pool = database.pool();
    await pool.end();
    return failure(new Pgque(pool).maintain());
  },
};

test.for(Object.entries(ways))("%s is thrown with its code, a message and something to do", async ([code, way]) => {
  const error = await way();
  expect(error).toBeInstanceOf(Error);
  expect(error.name).toBe("PgqueError");
  expect(error.code).toBe(code);
  expect(error.message).not.toMatch(/undefined|null|\[object|\.\.|\.$/);
  if (error.hint !== undefined) expect(error.message.endsWith(`. ${error.hint}`)).toBe(true);
});

test("an error of the database carries what it is about, and a hint for those who call TypeScript", async () => {
  const noQueue = await ways.QUEUE_NOT_FOUND();
  expect(noQueue.message).toBe("queue not found: nope. Create it with `await pgque.ensure(queue)`");
  expect(noQueue.details).toMatchObject({ queue: "nope", schema: "pgque", sqlstate: "PQ001" });
  const noConsumer = await ways.CONSUMER_NOT_FOUND();
  expect(noConsumer.message).toBe(
    "consumer not registered: nobody. Register it with `await pgque.subscribe(queue, consumer)`",
  );
  expect(noConsumer.details).toMatchObject({ queue: "orders", consumer: "nobody" });
  expect((await raising("PQ004")).message).toBe("as raised. Do this");
});

test("headers above 64 KiB are refused before anything is sent", async () => {
  const silent = new Pgque(pgque.pool).on({ query: () => Promise.reject(new Error("nothing is to be asked")) });
  const options = { headers: { h: "é".repeat(32_800) } };
  const error = await failure(silent.send(orders, { orderId: 1 }, options));
  expect(error.code).toBe("INVALID_OPTION");
  expect(error.message).toMatch(/expected `headers` to have at most 65536 bytes as JSON, got: 65608/);
  expect((await failure(silent.sendMany(orders, [{ orderId: 1 }], options))).code).toBe("INVALID_OPTION");
});

test("a privilege that is missing is told with the least role that has it", async () => {
  const denied = Object.assign(new Error("permission denied for schema pgque"), { code: "42501", severity: "ERROR" });
  const error = await failure(new Pgque(pgque.pool).on({ query: () => Promise.reject(denied) }).maintain());
  expect(error.code).toBe("ACCESS_DENIED");
  expect(error.hint).toBe(
    "Make the role a member of pgque_viewer to look, pgque_writer to send, pgque_reader to receive, or pgque_admin to administer; or grant it the queue with grant_queue(queue, role, privilege)",
  );
});

test("the codes in the code, the types and the README are the same", async () => {
  expectTypeOf<PgqueError["code"]>().toEqualTypeOf<keyof typeof errorCodes>();
  const readme = await readFile(new URL("../README.md", import.meta.url), "utf8");
  const rows = [...readme.matchAll(/^\| `([A-Z_]+)` \| (.+) \|$/gm)].map(([, code, description]) => [
    code,
    description,
  ]);
  expect(rows).toEqual(Object.entries(errorCodes));
});

const ofNode = (code: string, syscall: string): Error =>
  Object.assign(new Error(`${syscall} ${code}`), { code, syscall });

test.each<[string, Error, PgqueErrorCode]>([
  ["a connection that could not be made", ofNode("EHOSTUNREACH", "connect"), "DATABASE_UNREACHABLE"],
  ["one whose server vanished after a statement was sent", ofNode("EHOSTUNREACH", "read"), "CONNECTION_LOST"],
  [
    "a name none of whose addresses answers",
    Object.assign(new AggregateError([ofNode("ETIMEDOUT", "connect"), ofNode("ECONNREFUSED", "connect")]), {
      code: "ETIMEDOUT",
    }),
    "DATABASE_UNREACHABLE",
  ],
])("%s: whether a statement can have taken effect", async (_, error, code) => {
  expect((await failure(pgque.on({ query: () => Promise.reject(error) }).maintain())).code).toBe(code);
});

test("isPgqueError recognizes errors of another copy of the package, and nothing else", () => {
  const require = createRequire(import.meta.url);
  const file = require.resolve("@pgque/client").replace("index.", "errors/errors.");
  delete require.cache[file];
  const copy = require(file) as typeof import("@pgque/client");
  const error = new copy.PgqueError("QUEUE_NOT_FOUND", "queue not found: x");
  expect(error).not.toBeInstanceOf(PgqueError);
  expect([isPgqueError(error), isPgqueError(error, "QUEUE_NOT_FOUND"), isPgqueError(error, "CLOSED")]).toEqual([
    true,
    true,
    false,
  ]);
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  expect(
    [proxy, null, "PgqueError", { name: "PgqueError", code: "CLOSED" }, new Error("no")].map((e) => isPgqueError(e)),
  ).toEqual([false, false, false, false, false]);
});
