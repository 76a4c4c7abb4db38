import { Pgque } from "@pgque/client";
import { afterAll, expect, test } from "vitest";
import { freshDatabase } from "../../../test/support/database.ts";
import { until } from "../../../test/support/until.ts";
import { freshQueue, startWorker } from "./support/worker.ts";

const database = await freshDatabase();
const pgque = new Pgque(database.pool());
afterAll(() => database.drop());

test.each([{ maxInFlight: 2 }, { maxInFlightPerKey: 2 }])(
  "%o holds for all workers together, and they go on as soon as there is room",
  async (limit) => {
    const queue = await freshQueue(pgque, { partitions: 4 });
    await pgque.subscribe(queue, "limited", { from: "earliest", ...limit });
    const payloads = Array.from({ length: 40 }, (_, i) => i);
    await pgque.sendMany(queue, payloads, { key: "one" });
    const handled: unknown[] = [];
    let [running, most] = [0, 0];
    const handler = async ({ payload }: { payload: unknown }): Promise<void> => {
      running += 1;
      most = Math.max(most, running);
      await pgque.pool.query("select");
      running -= 1;
      handled.push(payload);
    };
    // no help from maintenance or from the fallback poll
    const options = { consumer: "limited", maintainIntervalMs: 3_600_000, fallbackPollMs: 600_000 };
    await startWorker(pgque, queue, handler, options);
    await startWorker(pgque, queue, handler, options);
    await until(() => handled.length === payloads.length, "all are handled");
    expect(most).toBe(2);
    expect(handled.toSorted((a, b) => Number(a) - Number(b))).toEqual(payloads);
  },
);
