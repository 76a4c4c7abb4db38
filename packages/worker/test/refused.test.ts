import { Pgque } from "@pgque/client";
import { deadLetter, retry, snooze } from "@pgque/worker";
import { afterAll, expect, test } from "vitest";
import { freshDatabase } from "../../../test/support/database.ts";
import { until } from "../../../test/support/until.ts";
import { freshQueue, silent, startWorker, unfinished } from "./support/worker.ts";

const database = await freshDatabase();
const pgque = new Pgque(database.pool());
afterAll(() => database.drop());

const longestMs = 36_500 * 86_400_000;

test("what may be put off the longest is put off, and the queue goes on", async () => {
  const queue = await freshQueue(pgque);
  await pgque.sendMany(queue, ["retry at", "retry after", "snooze", "done"]);
  const handled: unknown[] = [];
  await startWorker(pgque, queue, ({ payload }) => {
    handled.push(payload);
    if (payload === "retry at") return retry({ at: new Date(Date.now() + longestMs) });
    if (payload === "retry after") return retry({ afterMs: longestMs });
    return payload === "snooze" ? snooze({ afterMs: longestMs }) : undefined;
  });
  await pgque.send(queue, "sent late", { delayMs: longestMs });
  await until(async () => (await pgque.queues.status(queue)).delayed === 4, "four are put off");
  expect((await unfinished(pgque, queue)).open).toBe(0);
  await pgque.send(queue, "next");
  await until(() => handled.includes("next"), "what comes next is handled");
});

test.each([{ mode: "shared" }, { mode: "ordered" }] as const)(
  "an outcome that the database refuses for good is retried instead, and said; the rest of its batch is settled, with a consumer that is $mode",
  async ({ mode }) => {
    const isOrdered = mode === "ordered";
    const queue = await freshQueue(pgque, { maxRetries: 1, ...(isOrdered && { partitions: 16 }) });
    if (isOrdered) await pgque.subscribe(queue, "ordered", { mode });
    // an application's own
    await pgque.pool.query(
      `create or replace function pgque.refuse() returns trigger language plpgsql as
         $$ begin if new.reason = 'forbidden' then raise exception 'no such reason'; end if; return new; end $$;
       create or replace trigger refuse before insert on pgque.dead_letter for each row execute function pgque.refuse()`,
    );
    await pgque.sendMany(queue, ["done", "bury", "last"], isOrdered ? { key: "one" } : {});
    const said: string[] = [];
    const handled: [unknown, number][] = [];
    await startWorker(
      pgque,
      queue,
      ({ payload, attempt }) => {
        handled.push([payload, attempt]);
        return payload === "bury" ? deadLetter("forbidden") : undefined;
      },
      {
        ...(isOrdered && { mode, consumer: "ordered" }),
        log: { ...silent, error: (message: string) => void said.push(message) },
      },
    );
    await until(() => handled.length === 3, "all are handled");
    await until(async () => (await pgque.queues.status(queue)).delayed === 1 || isOrdered, "one is to be retried");
    await until(() => said.includes("settling was refused"), "the refusal is said");
    await pgque.send(queue, "next", isOrdered ? { key: "two" } : {});
    await until(() => handled.some(([payload]) => payload === "next"), "what comes next is handled");
    expect(handled.filter(([payload]) => payload === "done")).toEqual([["done", 1]]);
    expect((await unfinished(pgque, queue)).dead).toBe(0);
  },
);
