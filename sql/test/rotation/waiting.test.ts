import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type pg from "pg";
import { freshDatabase, type TestDatabase } from "../../../test/support/database.ts";
import { blocked } from "../../../test/support/interleave.ts";
import { drain, fillSegment, maintain, makeQueue, receive, ring, send } from "../support/queue.ts";

let database: TestDatabase;
let reader: pg.Client;
let rotator: pg.Client;
let sender: pg.Client;
let receiver: pg.Client;
let observer: pg.Client;

/** A drained segment that rotation wants to truncate, and a long transaction that has received and so holds a lock on it. */
beforeEach(async () => {
  database = await freshDatabase();
  const connect = (): Promise<pg.Client> => database.connect();
  [reader, rotator, sender] = [await connect(), await connect(), await connect()];
  [receiver, observer] = [await connect(), await connect()];
  await makeQueue(rotator, ["c", "d"]);
  await fillSegment(rotator);
  await maintain(rotator);
  await drain(rotator);
  await drain(rotator, "d");
  await reader.query("begin");
  await receive(reader, "d");
});
afterEach(() => database.drop());

describe("Rotation never blocks a sender, and a receiver for 20 ms at most", () => {
  test("while it waits for its lock senders go on", async () => {
    // so long that nothing here depends on 20 ms
    await rotator.query("alter function pgque.lock_segment set lock_timeout = '20s'");
    const rotation = await blocked(observer, rotator, "select pgque.maintain('q')");
    await sender.query("set lock_timeout = '1ms'");
    await send(sender, "at once");
    await reader.query("commit");
    await rotation.result;
    expect(await drain(receiver)).toEqual(["at once"]);
    expect((await ring(rotator)).bytes[0]).toBe(0);
  });

  test("it gives up after 20 ms, and comes again later", async () => {
    const longest: number[] = [];
    for (let round = 0; round < 5; round++) {
      await rotator.query("select setval('pgque.lock_attempts_1', 0)");
      longest.push(await longestReceiveDuring(maintain(rotator)));
      const { rows } = await observer.query("select pg_sequence_last_value('pgque.lock_attempts_1') & 63 as failures");
      expect(Number(rows[0].failures)).toBe(1);
    }
    // the machine has its own delays, not in every round
    expect(Math.min(...longest)).toBeLessThan(80);
    await reader.query("commit");
    await maintain(rotator);
    expect((await ring(rotator)).bytes[0]).toBe(0);
  });
});

async function longestReceiveDuring(work: Promise<unknown>): Promise<number> {
  const running = { is: true };
  const over = work.finally(() => (running.is = false));
  let longest = 0;
  while (running.is) {
    const began = performance.now();
    await receive(receiver);
    longest = Math.max(longest, performance.now() - began);
  }
  await over;
  return longest;
}
