import type { Socket } from "node:net";
import type pg from "pg";
import { pause } from "../../cursor/workload.ts";
import { isCancelled, isConnectionLoss } from "../../support/sessions.ts";
import type { Delivery, End } from "./ledger.ts";
import { lookUpLost, noted } from "./receipts.ts";
import { expose, rollBack, type Storm } from "./weather.ts";

/** A worker that acks, nacks, releases, dawdles, forgets and dies; one connection long. */
export class Worker {
  readonly #storm: Storm;
  readonly #client: pg.Client;
  readonly #consumer: string;
  /** What the open transaction has settled: it counts once that commits. */
  #pending: { delivery: Delivery; end: End }[] | undefined;

  constructor(storm: Storm, client: pg.Client, consumer: string) {
    this.#storm = storm;
    this.#client = client;
    this.#consumer = consumer;
  }

  async run(): Promise<void> {
    await expose(this.#client);
    while (this.#storm.raging) {
      try {
        await (this.#likely(0.15) ? this.#receiveInTransaction() : this.#receiveAlone());
      } catch (error) {
        if (!isCancelled(error)) throw error;
        if (isCancelled(error)) this.#storm.ledger.cancelled += 1;
        this.#pending = undefined;
        await rollBack(this.#client);
      }
    }
  }

  async #receiveAlone(): Promise<void> {
    const [worker, leaseMs, askedAt] = [this.#newName(), 100 + this.#storm.random() * 300, Date.now()];
    const got = await this.#receive(worker, leaseMs).catch(async (error) => {
      if (isConnectionLoss(error)) await lookUpLost(this.#storm, this.#consumer, worker, askedAt, leaseMs);
      throw error;
    });
    for (const delivery of got) delivery.transaction = "committed";
    if (got.length > 0) await this.#handle(got, worker);
    else await pause(10);
  }

  /** Others of the consumer wait for the end of the transaction. */
  async #receiveInTransaction(): Promise<void> {
    await this.#begin();
    const worker = this.#newName();
    const got = await this.#receive(worker, 300);
    await pause(this.#storm.random() * 30);
    const handled = got.length > 0 && this.#likely(0.5);
    if (handled) await this.#settle(got);
    if (this.#likely(0.1)) this.#die();
    if (this.#likely(0.3)) return this.#rollBack();
    await this.#commit(got);
    if (got.length > 0 && !handled) await this.#handle(got, worker);
  }

  async #receive(worker: string, leaseMs: number): Promise<Delivery[]> {
    const max = this.#likely(0.2) ? 1000 : 1 + Math.floor(this.#storm.random() * 50);
    const { rows } = await this.#client.query(
      "select * from pgque.receive_messages('q', $1, $2, $3, $4::float8 * interval '1 ms')",
      [this.#consumer, worker, max, leaseMs],
    );
    return noted(this.#storm.ledger, this.#consumer, rows);
  }

  async #handle(got: Delivery[], worker: string): Promise<void> {
    const leaseUntil = got[0]?.leaseUntil ?? 0;
    const dice = this.#storm.random();
    if (dice < 0.06) this.#die();
    // forgotten: they come again when the lease ends
    if (dice < 0.12) return;
    if (dice < 0.24) await pause(leaseUntil - Date.now() + 100 + this.#storm.random() * 300);
    else if (dice < 0.3) await this.#handleForLong(got, worker);
    if (this.#likely(0.8)) return this.#settle(got);
    await this.#begin();
    await this.#settle(got);
    await pause(this.#storm.random() * 30);
    await (this.#likely(0.8) ? this.#commit([]) : this.#rollBack());
  }

  /** Longer than the lease, with a heartbeat that keeps it. */
  async #handleForLong(got: Delivery[], worker: string): Promise<void> {
    const [askedAt, ttlMs] = [Date.now(), 600];
    await this.#client.query("select pgque.heartbeat($1, $2::float8 * interval '1 ms')", [worker, ttlMs]);
    const answeredAt = Date.now();
    for (const delivery of got)
      // a heartbeat that comes too late keeps nothing
      if (answeredAt < delivery.leaseUntil) delivery.leaseUntil = Math.max(delivery.leaseUntil, askedAt + ttlMs);
    await pause(400);
  }

  async #settle(got: Delivery[]): Promise<void> {
    const batch = got[0]?.batch;
    const bad = got.filter(({ payload }) => payload.startsWith("poison") || this.#likely(0.08));
    const good = got.filter((delivery) => !bad.includes(delivery));
    const retryMs = this.#storm.random() * 500;
    const nacked = { how: "nack" as const, notBefore: Date.now() + retryMs };
    if (this.#likely(0.3)) {
      const released = good.filter(() => this.#likely(0.1));
      await this.#try(
        "settle($1, retry_ids => $2, retry_after => array_fill($3::float8 * interval '1 ms', array[cardinality($2::bigint[])]), release_ids => $4)",
        [batch, idsOf(bad), retryMs, idsOf(released)],
        got.map((delivery) => {
          if (bad.includes(delivery)) return { delivery, ...nacked };
          return { delivery, how: released.includes(delivery) ? "release" : "ack", notBefore: 0 };
        }),
      );
      return;
    }
    if (bad.length > 0) {
      const ends = bad.map((delivery) => ({ delivery, ...nacked }));
      const call =
        "nack(batch_id => $1, message_ids => $2, retry_after => $3::float8 * interval '1 ms', reason => 'bad')";
      if (!(await this.#try(call, [batch, idsOf(bad), retryMs], ends))) return;
    }
    const some = this.#likely(0.2) ? good.slice(0, good.length / 2) : good;
    if (some.length === 0) return;
    const ends = some.map((delivery) => ({ delivery, how: "ack" as const, notBefore: 0 }));
    if (some.length < good.length || this.#likely(0.1)) await this.#try("ack($1, $2)", [batch, idsOf(some)], ends);
    else await this.#try("ack($1)", [batch], ends);
  }

  /** One call that settles messages; what it did, or may have done, goes into the ledger. */
  async #try(call: string, values: unknown[], settled: Settled[]): Promise<boolean> {
    const ends = settled.map(({ delivery, how, notBefore }) => ({ delivery, end: { how, notBefore, certain: true } }));
    try {
      const { rows } = await this.#client.query(`select pgque.${call} as done`, values);
      if (rows[0].done === 0) {
        this.#refused(settled);
        return false;
      }
      if (this.#pending) this.#pending.push(...ends);
      else for (const { delivery, end } of ends) delivery.ends.push(end);
      return true;
    } catch (error) {
      if (isConnectionLoss(error) && !this.#pending)
        for (const { delivery, end } of ends) delivery.ends.push({ ...end, certain: false });
      throw error;
    }
  }

  #refused(settled: Settled[]): void {
    this.#storm.ledger.refused += 1;
    const [first] = settled;
    if (first && Date.now() < first.delivery.leaseUntil)
      throw new Error(`refused before the lease ended: batch ${first.delivery.batch} of ${this.#consumer}`);
  }

  async #begin(): Promise<void> {
    await this.#client.query("begin");
    this.#pending = [];
  }

  #rollBack(): Promise<void> {
    this.#pending = undefined;
    return rollBack(this.#client);
  }

  async #commit(received: Delivery[]): Promise<void> {
    const pending = this.#pending ?? [];
    this.#pending = undefined;
    for (const delivery of received) delivery.transaction = "unknown";
    for (const { delivery, end } of pending) {
      end.certain = false;
      delivery.ends.push(end);
    }
    await this.#client.query("commit");
    for (const delivery of received) delivery.transaction = "committed";
    for (const { end } of pending) end.certain = true;
  }

  /** As if its process were killed. */
  #die(): never {
    (this.#client as unknown as { connection: { stream: Socket } }).connection.stream.destroy();
    throw new Error("Connection destroyed");
  }

  #newName(): string {
    return `${this.#consumer} ${this.#storm.nextNumber()}`;
  }

  #likely(probability: number): boolean {
    return this.#storm.random() < probability;
  }
}

interface Settled {
  delivery: Delivery;
  how: End["how"];
  notBefore: number;
}

const idsOf = (deliveries: Delivery[]): string[] => deliveries.map(({ id }) => id);
