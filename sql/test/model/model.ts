import * as fc from "fast-check";
import { expect } from "vitest";
import type pg from "pg";
import { freshDatabase } from "../../../test/support/database.ts";
import { pause } from "../cursor/workload.ts";
import { updatesAndDeletes } from "../support/statistics.ts";

const consumers = ["c", "d", "stream"] as const;
const exclusive = consumers.indexOf("stream");
const maxRetries = 2;

type Command =
  | { do: "send"; messages: number }
  | { do: "receive"; consumer: number; max: number; doomed: boolean }
  | { do: "ack"; batch: number }
  | { do: "ack part" | "nack now" | "nack" | "nack far" | "release"; batch: number; message: number }
  | { do: "maintain" };

const number = fc.nat(20);
const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant("send" as const), messages: fc.integer({ min: 1, max: 8 }) }) },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant("receive" as const),
      consumer: fc.nat(consumers.length - 1),
      max: fc.integer({ min: 1, max: 10 }),
      doomed: fc.boolean(),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("ack" as const), batch: number }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constantFrom(
        "ack part" as const,
        "nack now" as const,
        "nack" as const,
        "nack far" as const,
        "release" as const,
      ),
      batch: number,
      message: number,
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("maintain" as const) }) },
);

interface Batch {
  id: string;
  consumer: number;
  doomed: boolean;
  all: string[];
  /** Message → attempt; of those that are not settled. */
  open: Map<string, number>;
  finished: boolean;
}

/** What one consumer should find: message → the attempt it is to come with. */
interface Expected {
  ready: Map<string, number>;
  due: Map<string, number>;
  far: Set<string>;
  dead: Set<string>;
  acked: Set<string>;
}

/** Runs any sequence of commands against a queue and against this model of it. */
export async function behavesLikeItsModel(runs: number, seed: number): Promise<void> {
  await using database = await freshDatabase();
  const client = await database.connect();
  await fc.assert(
    fc.asyncProperty(fc.array(command, { minLength: 10, maxLength: 60, size: "max" }), async (commands) => {
      const model = new Model(client);
      await model.open();
      for (const one of commands) await model.run(one);
      await model.finish();
    }),
    { numRuns: runs, seed, endOnFailure: true },
  );
  // each run drops the queue of the one before, and with it its dead letters
  expect((await updatesAndDeletes(client)).filter(({ table }) => table !== "dead_letter")).toEqual([]);
}

class Model {
  readonly #client: pg.Client;
  readonly #expected: Expected[] = consumers.map(() => ({
    ready: new Map(),
    due: new Map(),
    far: new Set(),
    dead: new Set(),
    acked: new Set(),
  }));
  readonly #batches: Batch[] = [];

  constructor(client: pg.Client) {
    this.#client = client;
  }

  /** A queue whose segments hold a few dozen messages. */
  async open(): Promise<void> {
    await this.#call("select pgque.drop_queue('q', true)");
    await this.#call("select pgque.create_queue('q', $1)", [
      { max_retries: maxRetries, rotation_bytes: 8192, rotation_min_interval: "0 s" },
    ]);
    for (const consumer of consumers)
      await this.#call("select pgque.subscribe('q', $1, $2)", [
        consumer,
        { from: "earliest", mode: consumer === "stream" ? "exclusive" : "shared" },
      ]);
  }

  async run(one: Command): Promise<void> {
    if (one.do === "send") return this.#send(one.messages);
    if (one.do === "receive") return this.#receive(one.consumer, one.max, one.doomed);
    if (one.do === "maintain") return this.#maintain();
    const batch = this.#batches[one.batch % Math.max(1, this.#batches.length)];
    if (batch === undefined) return;
    if (one.do === "ack") return this.#ack(batch);
    const id = batch.all[one.message % batch.all.length] as string;
    if (batch.open.has(id)) await this.#settleOne(batch, id, one.do);
    else await this.#settleAgain(batch, id);
  }

  /** Receives and acks until nothing is left: now every message is where the model has it. */
  async finish(): Promise<void> {
    for (const batch of this.#batches) if (!batch.finished && !batch.doomed) await this.#ack(batch);
    await this.#maintain();
    for (const [consumer, expected] of this.#expected.entries()) {
      const open = (): Batch | undefined => this.#batches.find((b) => b.consumer === consumer && !b.finished);
      while (expected.ready.size > 0 || open() !== undefined) {
        await this.#receive(consumer, 1000, false);
        const batch = open();
        if (batch !== undefined) await this.#ack(batch);
      }
      await this.#receive(consumer, 1000, false);
    }
    const { rows } = await this.#client.query(
      "select consumer, message_id::text as id, attempt from pgque.dead_letter",
    );
    for (const [index, consumer] of consumers.entries()) {
      const dead = rows.filter((row) => row.consumer === consumer);
      expect(new Set(dead.map(({ id }) => id))).toEqual(this.#expected[index]?.dead);
      expect(dead.every(({ attempt }) => attempt === maxRetries + 1)).toBe(true);
    }
  }

  async #send(messages: number): Promise<void> {
    const payloads = Array.from({ length: messages }, () => "x".repeat(300));
    const { ids } = await this.#call("select pgque.send_batch('q', $1::text[])::text[] as ids", [payloads]);
    for (const { ready } of this.#expected) for (const id of ids as string[]) ready.set(id, 1);
  }

  async #receive(consumer: number, max: number, doomed: boolean): Promise<void> {
    const { ready } = this.#expected[consumer] as Expected;
    const held = consumer === exclusive && this.#batches.find((b) => b.consumer === consumer && !b.finished);
    // by then the lease has ended
    if (held && held.doomed) await pause(3);
    const { rows } = await this.#client.query(
      "select batch_id, message_id, attempt from pgque.receive_messages('q', $1, null, $2, $3)",
      [consumers[consumer], max, doomed ? "1 ms" : "1 h"],
    );
    const open = new Map<string, number>(rows.map((row) => [row.message_id, row.attempt]));
    expect(open.size, "a message comes once in a batch").toBe(rows.length);
    if (held && !held.doomed) {
      expect({ id: rows[0].batch_id, open }, "an exclusive consumer's open batch comes again").toEqual({
        id: held.id,
        open: held.open,
      });
      return;
    }
    if (held && this.#takeOver(held, open)) {
      this.#batches.push({ id: rows[0].batch_id, consumer, doomed, all: [...open.keys()], open, finished: false });
      return;
    }
    expect(rows.length).toBeLessThanOrEqual(max);
    if (ready.size > 0) expect(rows.length, "something is there").toBeGreaterThan(0);
    for (const [id, attempt] of open) {
      expect(attempt, `attempt of ${id} for ${consumers[consumer]}`).toBe(ready.get(id));
      ready.delete(id);
    }
    if (rows.length > 0)
      this.#batches.push({ id: rows[0].batch_id, consumer, doomed, all: [...open.keys()], open, finished: false });
  }

  /** What is left of a batch whose lease has ended, one attempt further; false when nothing is. */
  #takeOver(held: Batch, open: Map<string, number>): boolean {
    const expected = this.#expected[held.consumer] as Expected;
    const rest = new Map<string, number>();
    for (const [id, attempt] of held.open) {
      if (attempt > maxRetries) expected.dead.add(id);
      else rest.set(id, attempt + 1);
    }
    held.open.clear();
    held.finished = true;
    if (rest.size > 0) expect(open, "the rest of an exclusive consumer's batch, in its place").toEqual(rest);
    return rest.size > 0;
  }

  async #ack(batch: Batch): Promise<void> {
    const { done } = await this.#call("select pgque.ack($1::bigint) as done", [batch.id]);
    expect(done, "an ack of a finished batch is refused").toBe(batch.finished ? 0 : 1);
    if (batch.finished) return;
    for (const id of batch.open.keys()) this.#expected[batch.consumer]?.acked.add(id);
    batch.open.clear();
    batch.finished = true;
  }

  async #settleOne(
    batch: Batch,
    id: string,
    how: Exclude<Command["do"], "send" | "receive" | "ack" | "maintain">,
  ): Promise<void> {
    const attempt = batch.open.get(id) as number;
    const expected = this.#expected[batch.consumer] as Expected;
    if (how === "release") {
      await this.#call("select pgque.settle($1, release_ids => $2)", [batch.id, [id]]);
      for (const other of batch.open.keys()) if (other !== id) expected.acked.add(other);
      if (batch.consumer === exclusive) {
        // it stays in its place
        batch.open = new Map([[id, attempt]]);
        return;
      }
      expected.ready.set(id, attempt);
      batch.open.clear();
      batch.finished = true;
      return;
    }
    if (how === "ack part") {
      await this.#call("select pgque.ack($1, $2::bigint[])", [batch.id, [id]]);
      expected.acked.add(id);
    } else {
      const after = { "nack now": "0 s", nack: "1 ms", "nack far": "1 day" }[how];
      await this.#call("select pgque.nack(batch_id => $1, message_ids => $2::bigint[], retry_after => $3)", [
        batch.id,
        [id],
        after,
      ]);
      this.#tryAgain(expected, id, attempt, how);
    }
    batch.open.delete(id);
    batch.finished = batch.open.size === 0;
  }

  /** What is settled stays as it is. */
  async #settleAgain(batch: Batch, id: string): Promise<void> {
    const { given } = await this.#call(
      "select pgque.nack(batch_id => $1, message_ids => $2::bigint[], retry_after => '0 s') as given",
      [batch.id, [id]],
    );
    expect(given, "a message is given back once").toBe(0);
  }

  #tryAgain(expected: Expected, id: string, attempt: number, how: "nack now" | "nack" | "nack far"): void {
    if (attempt > maxRetries) expected.dead.add(id);
    else if (how === "nack now") expected.ready.set(id, attempt + 1);
    else if (how === "nack") expected.due.set(id, attempt + 1);
    else expected.far.add(id);
  }

  /** Ended leases are taken away, due messages delivered, segments rotated. */
  async #maintain(): Promise<void> {
    await pause(3);
    await this.#call("select pgque.maintain('q')");
    for (const expected of this.#expected) {
      for (const [id, attempt] of expected.due) expected.ready.set(id, attempt);
      expected.due.clear();
    }
    for (const batch of this.#batches) {
      if (batch.finished || !batch.doomed || batch.consumer === exclusive) continue;
      for (const [id, attempt] of batch.open) {
        this.#tryAgain(this.#expected[batch.consumer] as Expected, id, attempt, "nack now");
      }
      batch.open.clear();
      batch.finished = true;
    }
  }

  async #call(text: string, values: unknown[] = []): Promise<Record<string, unknown>> {
    const { rows } = await this.#client.query(text, values);
    return rows[0];
  }
}
