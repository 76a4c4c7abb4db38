import * as fc from "fast-check";
import { expect } from "vitest";
import type pg from "pg";
import { freshDatabase } from "../../../test/support/database.ts";
import { pause } from "../cursor/workload.ts";
import { updatesAndDeletes } from "../support/statistics.ts";
import { callOf, command, consumers, whenOf, type Command, type SettleOne, type When } from "./commands.ts";
import { looksLikeItsModel } from "./look.ts";

const exclusive = consumers.indexOf("stream");
const maxRetries = 2;

export interface Batch {
  id: string;
  consumer: number;
  doomed: boolean;
  all: string[];
  /** Message → attempt; of those that are not settled. */
  open: Map<string, number>;
  finished: boolean;
}

/** What one consumer should find: message → the attempt it is to come with. */
export interface Expected {
  ready: Map<string, number>;
  due: Map<string, number>;
  far: Set<string>;
  dead: Map<string, number>;
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
      await model.look();
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
    dead: new Map(),
    acked: new Set(),
  }));
  readonly #batches: Batch[] = [];
  readonly #sent: string[] = [];

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

  /** Looks at everything, without changing anything. */
  async look(): Promise<void> {
    const views = this.#expected.map((expected, index) => ({
      consumer: consumers[index] as string,
      expected,
      open: this.#batches.filter((batch) => batch.consumer === index && !batch.finished),
    }));
    // of all messages, some of each kind
    await looksLikeItsModel(
      this.#client,
      views,
      this.#sent.filter((_, index) => index % 5 === 0),
    );
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
      expect(dead.length, "a message dies once").toBe(this.#expected[index]?.dead.size);
      expect(new Map(dead.map(({ id, attempt }) => [id, attempt]))).toEqual(this.#expected[index]?.dead);
    }
  }

  async #send(messages: number): Promise<void> {
    const payloads = Array.from({ length: messages }, () => "x".repeat(300));
    const { ids } = await this.#call("select pgque.send_batch('q', $1::text[])::text[] as ids", [payloads]);
    this.#sent.push(...(ids as string[]));
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
      if (attempt > maxRetries) expected.dead.set(id, attempt);
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

  async #settleOne(batch: Batch, id: string, how: SettleOne): Promise<void> {
    const attempt = batch.open.get(id) as number;
    const expected = this.#expected[batch.consumer] as Expected;
    await this.#call(`select pgque.${callOf[how]}`, [batch.id, [id]]);
    batch.open.delete(id);
    if (how === "release" || how.startsWith("settle")) {
      for (const other of batch.open.keys()) expected.acked.add(other);
      batch.open.clear();
    }
    if (how === "ack part") expected.acked.add(id);
    else if (how === "bury" || how === "settle: bury") expected.dead.set(id, attempt);
    // it stays in its place
    else if (how === "release" && batch.consumer === exclusive) batch.open.set(id, attempt);
    else if (how === "release") expected.ready.set(id, attempt);
    else if (how.startsWith("nack")) this.#tryAgain(expected, id, attempt, whenOf(how));
    else this.#wait(expected, id, attempt, whenOf(how));
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

  #tryAgain(expected: Expected, id: string, attempt: number, when: When): void {
    if (attempt > maxRetries) expected.dead.set(id, attempt);
    else this.#wait(expected, id, attempt + 1, when);
  }

  #wait(expected: Expected, id: string, attempt: number, when: When): void {
    if (when === "now") expected.ready.set(id, attempt);
    else if (when === "soon") expected.due.set(id, attempt);
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
        this.#tryAgain(this.#expected[batch.consumer] as Expected, id, attempt, "now");
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
