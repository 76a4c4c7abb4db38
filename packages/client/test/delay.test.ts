import { defineQueue, type SendOptions } from "@pgque/client";
import { expect, test } from "vitest";
import { until } from "../../../test/support/until.ts";
import { failure, freshClient } from "./support/client.ts";

const { database, pgque } = await freshClient();
const queue = defineQueue("delayed");
await pgque.ensure(queue);
await pgque.subscribe(queue);

/** What waits, the earliest first, and in how many seconds it is due. */
async function waiting(): Promise<{ payload: string; headers: unknown; seconds: number }[]> {
  const { rows } = await database.pool().query(
    `select payload, headers, extract(epoch from due_at - clock_timestamp())::float8 as seconds
       from (table pgque.delayed_soon_0 union all table pgque.delayed_later_0) as delayed
      order by due_at`,
  );
  return rows;
}

test("send and sendMany deliver later, after a while or at a time, with their headers", async () => {
  const { id } = await pgque.send(queue, "soon", { delayMs: 300, headers: { trace: 1 } });
  await pgque.sendMany(queue, ["hour 1", "hour 2"], { at: new Date(Date.now() + 3_000_000) });
  await pgque.send(queue, "year", { delayMs: 365 * 86_400_000 });
  const found = await waiting();
  expect(found.map(({ payload, headers }) => [payload, headers])).toEqual([
    ['"soon"', { trace: 1 }],
    ['"hour 1"', null],
    ['"hour 2"', null],
    ['"year"', null],
  ]);
  expect(found[1]?.seconds).toBeGreaterThan(2900);
  expect(found[1]?.seconds).toBeLessThan(3001);
  expect((await pgque.receive(queue)).id).toBeNull();
  await until(async () => {
    await pgque.maintain(queue);
    const { messages } = await pgque.receive(queue);
    for (const message of messages)
      expect(message).toMatchObject({ id, payload: "soon", headers: { trace: 1 }, attempt: 1 });
    return messages.length === 1;
  }, "the first one comes");
});

test("a time in the past, or a delay of nothing, is at once", async () => {
  await pgque.send(queue, "past", { at: new Date(0) });
  await pgque.send(queue, "now", { delayMs: 0 });
  const { messages } = await pgque.receive(queue);
  expect(messages.map(({ payload }) => payload)).toEqual(["past", "now"]);
});

test.each<[SendOptions, string]>([
  [{ delayMs: -1 }, "expected `delayMs` to be a number from 0 to 3153600000000, got: -1"],
  [{ delayMs: Number.NaN }, "got: NaN"],
  [{ at: new Date(Number.NaN) }, "expected `at` to be a valid Date within 100 years, got: Invalid Date"],
  [{ at: "2030-01-01" as unknown as Date }, "expected `at` to be a valid Date within 100 years, got: '2030-01-01'"],
  [{ at: new Date("2300-01-01") }, "expected `at` to be a valid Date within 100 years"],
  [{ at: new Date(), delayMs: 1 }, "expected `delayMs` or `at`, got both"],
])("%j is refused", async (options, message) => {
  for (const sending of [() => pgque.send(queue, 1, options), () => pgque.sendMany(queue, [1], options)]) {
    const error = await failure(sending());
    expect(error.code).toBe("INVALID_OPTION");
    expect(error.message).toContain(message);
  }
});
