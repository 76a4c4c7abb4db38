import { expect, test } from "vitest";
import type { Transaction } from "@pgque/client";
import { failure } from "../../support/client.ts";
import { following } from "../../support/ids.ts";
import type { Library } from "../library.ts";
import { Changed, Setting } from "./setting.ts";

/** What is done in a transaction happens if and only if it commits. */
export function commits<Tx extends Transaction>(library: Library<Tx>): void {
  const setting = new Setting(library);
  const { events } = setting;

  test("is there once it commits, and not before", async () => {
    await setting.app.transaction(async (tx) => {
      const { id } = await setting.inTransaction(tx).send(events, "one");
      expect(id).toMatch(/^\d+$/);
      expect(await setting.inTransaction(tx).sendMany(events, ["two", "three"])).toEqual([
        { id: following(id), deduplicated: false },
        { id: following(id, 2), deduplicated: false },
      ]);
      expect(await setting.inTransaction(tx).sendStream(events, ["four", "five"], { batchSize: 1 })).toBe(2);
      expect(await setting.drain()).toEqual([]);
    });
    expect(await setting.drain()).toEqual(["one", "two", "three", "four", "five"]);
  });

  test("has not happened when the work throws, and the error is the work's", async () => {
    const error = new Changed();
    const work = setting.app.transaction(async (tx) => {
      await setting.inTransaction(tx).send(events, "never");
      throw error;
    });
    await expect(work).rejects.toBe(error);
    expect(await setting.drain()).toEqual([]);
  });

  test("goes with the nested transaction that it was done in", async () => {
    await setting.app.transaction(async (tx) => {
      await setting.inTransaction(tx).send(events, "before");
      const gone = setting.app.nested(tx, async (inner) => {
        await setting.inTransaction(inner).send(events, "gone");
        throw new Changed();
      });
      await expect(gone).rejects.toBeInstanceOf(Changed);
      await setting.app.nested(tx, (inner) => setting.inTransaction(inner).send(events, "kept"));
      await setting.inTransaction(tx).send(events, "after");
    });
    expect(await setting.drain()).toEqual(["before", "kept", "after"]);
  });

  test("includes receiving and acking: what rolls back is received again", async () => {
    await setting.outside.send(events, "all in one");
    const work = setting.app.transaction(async (tx) => {
      const batch = await setting.inTransaction(tx).receive(events);
      expect(batch.messages.map((m) => m.payload)).toEqual(["all in one"]);
      expect(await batch.ack()).toBe(true);
      throw new Changed();
    });
    await expect(work).rejects.toBeInstanceOf(Changed);
    await setting.app.transaction(async (tx) => {
      const batch = await setting.inTransaction(tx).receive(events);
      expect(batch.messages.map((m) => m.payload)).toEqual(["all in one"]);
      expect(await batch.ack()).toBe(true);
    });
    expect(await setting.drain()).toEqual([]);
  });

  test("includes an ack of what was received outside, with and without ids", async () => {
    await setting.outside.sendMany(events, [1, 2]);
    const batch = await setting.outside.receive(events, { leaseMs: 600_000 });
    const id = batch.id ?? "0";
    const work = setting.app.transaction(async (tx) => {
      expect(await setting.inTransaction(tx).ack(id)).toBe(true);
      throw new Changed();
    });
    await expect(work).rejects.toBeInstanceOf(Changed);
    await setting.app.transaction(async (tx) => {
      const ids = batch.messages.map((message) => message.id);
      expect(await setting.inTransaction(tx).ack(id, ids.slice(0, 1))).toBe(true);
      await setting.inTransaction(tx).ackStrict(id, ids.slice(1));
    });
    const again = setting.app.transaction((tx) => setting.inTransaction(tx).ackStrict(id));
    expect((await failure(again)).code).toBe("LEASE_LOST");
  });

  test("includes what is given back", async () => {
    await setting.outside.sendMany(events, [
      "nacked",
      "retried",
      "released",
      "snoozed",
      "buried",
      "later",
      "dead",
      "acked",
    ]);
    const batch = await setting.outside.receive(events, { leaseMs: 600_000 });
    const [nacked = "0", retried = "0", released = "0", ...others] = batch.messages.map((message) => message.id);
    const [snoozed = "0", buried = "0", later = "0", dead = "0"] = others;
    await setting.app.transaction(async (tx) => {
      const reason = `it's "\\broken\\", {null}, $1`;
      expect(await setting.inTransaction(tx).nack(batch.id ?? "0", [nacked], { retryAfterMs: 0, reason })).toBe(1);
      expect(await setting.inTransaction(tx).snooze(batch.id ?? "0", [snoozed], 0)).toBe(1);
      expect(await setting.inTransaction(tx).bury(batch.id ?? "0", [buried], reason)).toBe(1);
      const outcomes = {
        retry: [{ id: retried, afterMs: 0, reason }],
        release: [released],
        snooze: [{ id: later, afterMs: 0 }],
        dead: [{ id: dead, reason }],
      };
      expect(await setting.inTransaction(tx).settle(batch.id ?? "0", outcomes)).toBe(true);
    });
    await setting.outside.maintain();
    const again = await setting.drain();
    expect(again).toHaveLength(5);
    expect(again).toEqual(expect.arrayContaining(["nacked", "released", "retried", "snoozed", "later"]));
  });
}
