import { setTimeout as pause } from "node:timers/promises";
import type pg from "pg";
import { expect, test } from "vitest";
import { freshDatabase } from "../../../test/support/database.ts";
import { maintain, makeQueue, receive } from "../support/queue.ts";
import { updatesAndDeletes } from "../support/statistics.ts";

test("of no key more than max_in_flight_per_key messages are handled at once, by eight sessions, across failures, rollbacks and rotation", async () => {
  await using database = await freshDatabase();
  const client = await database.connect();
  const perKey = 3;
  await makeQueue(client, [], { partitions: 4, max_retries: 1000 });
  await client.query("select pgque.subscribe('q', 'c', $1)", [
    { mode: "shared", from: "earliest", max_in_flight_per_key: perKey },
  ]);
  const total = 600;
  const handling = new Map<string, number>();
  const done = new Set<string>();
  let most = 0;

  const handle = async (session: pg.Client): Promise<void> => {
    await session.query("begin");
    const got = await receive(session, "c", 1 + Math.floor(Math.random() * 5));
    const isLost = Math.random() < 0.2;
    await session.query(isLost ? "rollback" : "commit");
    if (isLost || got.ids.length === 0) return;
    const keyOf = (payload: string): string => payload.split(" ")[0] ?? "";
    for (const payload of got.payloads) {
      const now = (handling.get(keyOf(payload)) ?? 0) + 1;
      handling.set(keyOf(payload), now);
      most = Math.max(most, now);
    }
    // one by one, so that batches are open with some of their messages settled
    for (const [i, id] of got.ids.entries()) {
      await pause(Math.random() * 3);
      const payload = got.payloads[i] ?? "";
      handling.set(keyOf(payload), (handling.get(keyOf(payload)) ?? 0) - 1);
      if (Math.random() < 0.2) {
        const after = Math.random() < 0.5 ? "0 s" : "20 ms";
        await session.query("select pgque.nack(batch_id => $1, message_ids => $2::bigint[], retry_after => $3)", [
          got.batch,
          [id],
          after,
        ]);
      } else {
        await session.query("select pgque.ack($1, $2::bigint[])", [got.batch, [id]]);
        done.add(payload);
      }
    }
  };

  const working = Array.from({ length: 8 }, async () => {
    const session = await database.connect();
    while (done.size < total) await handle(session);
  });
  const maintaining = (async () => {
    const session = await database.connect();
    while (done.size < total) await maintain(session);
  })();
  for (let i = 0; i < total; i += 20) {
    const keys = Array.from({ length: 20 }, () => `key-${Math.floor(Math.random() ** 2 * 12)}`);
    const payloads = keys.map((key, n) => `${key} ${i + n} ${"x".repeat(100)}`);
    await client.query("select pgque.send_batch('q', 't', $1::text[], null, $2)", [payloads, { keys }]);
  }
  await Promise.all([...working, maintaining]);
  expect(most).toBe(perKey);
  expect([...handling.values()].every((count) => count === 0)).toBe(true);
  expect(await updatesAndDeletes(client)).toEqual([]);
});
