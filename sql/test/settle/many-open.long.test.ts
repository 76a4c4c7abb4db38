import { expect, test } from "vitest";
import type pg from "pg";
import { setTimeout as sleep } from "node:timers/promises";
import { ownServer } from "../../../test/support/database.ts";
import { makeQueue } from "../support/queue.ts";
import { updatesAndDeletes } from "../support/statistics.ts";

const seconds = 10;

test("many batches are left open, receivers are killed and segments truncated: each message is acked once", async () => {
  await using database = await ownServer({ durable: true });
  const admin = await database.connect();
  await makeQueue(admin, ["c"], { rotation_bytes: 8192, rotation_min_interval: "0 s", max_retries: 30_000 });
  const sent = new Set<string>();
  const acked: string[] = [];
  const endsAt = Date.now() + seconds * 1000;
  const isOver = (): boolean => Date.now() > endsAt && acked.length >= sent.size;
  let most = 0;

  async function send(): Promise<void> {
    const client = await database.connect();
    while (Date.now() < endsAt) {
      const { rows } = await client.query(
        "select unnest(pgque.send_batch('q', array_fill('m'::text, array[20]))) as id",
      );
      for (const { id } of rows) sent.add(id);
      await sleep(20);
    }
  }
  async function work(): Promise<void> {
    while (!isOver()) {
      const client = await database.connect();
      client.on("error", () => undefined);
      // until it is killed
      await receiveAndAck(client).catch((error) => {
        if (!/terminat|not queryable/i.test(String(error))) throw error;
      });
    }
  }
  async function receiveAndAck(client: pg.Client): Promise<void> {
    while (!isOver()) {
      const left = Date.now() < endsAt && Math.random() < 0.25;
      const { rows } = await client.query(
        "select batch_id, message_id from pgque.receive_messages('q', 'c', max_messages => 2, lease => $1)",
        [left ? "4 s" : "20 s"],
      );
      if (rows.length === 0) await sleep(20);
      if (rows.length === 0 || left) continue;
      const isUndone = Math.random() < 0.05;
      if (isUndone) await client.query("begin");
      const { rows: done } = await client.query("select pgque.ack($1) as acked", [rows[0].batch_id]);
      if (isUndone) await client.query("rollback");
      else if (done[0].acked === 1) acked.push(...rows.map((row) => row.message_id));
    }
  }
  async function maintain(): Promise<void> {
    const client = await database.connect();
    while (!isOver()) {
      await client.query("call pgque.maintain_all()");
      await sleep(50);
    }
  }
  /** A session that receives, not one that acks: its ack would count without an answer. */
  async function kill(): Promise<void> {
    while (Date.now() < endsAt) {
      await sleep(700);
      await admin.query(
        "select pg_terminate_backend(pid) from pg_stat_activity where query ~ '^select batch_id' and pid <> pg_backend_pid() order by random() limit 1",
      );
      const { rows } = await admin.query("select open_batches from pgque.consumer_status('q')");
      most = Math.max(most, rows[0].open_batches);
    }
  }

  await Promise.all([send(), kill(), maintain(), ...Array.from({ length: 4 }, work)]);

  expect(most, "more than a batch row names").toBeGreaterThan(100);
  expect(acked.length).toBe(new Set(acked).size);
  expect(new Set(acked)).toEqual(sent);
  expect(await updatesAndDeletes(admin)).toEqual([]);
});
