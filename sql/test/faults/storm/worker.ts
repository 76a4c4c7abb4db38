import type { Socket } from "node:net";
import type pg from "pg";
import { pause } from "../../cursor/workload.ts";
import { isCancelled, isConnectionLoss } from "../../support/sessions.ts";
import type { Delivery, End } from "./ledger.ts";
import { lookUpLost, noted } from "./receipts.ts";
import { expose, rollBack, type Storm } from "./weather.ts";

/** A worker that acks, nacks, snoozes, releases, buries, dawdles, forgets and dies; one connection long. */
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
    if (dice < 0.22) await pause(leaseUntil - Date.now() + 100 + this.#storm.random() * 300);
    else if (dice < 0.24) return this.#handleTooLong(got);
    else if (dice < 0.3) await this.#handleForLong(got, worker);
    if (this.#likely(0.8)) return this.#settle(got);
    await this.#begin();
    await this.#settle(got);
    await pause(this.#storm.random() * 30);
    await (this.#likely(0.8) ? this.#commit([]) : this.#rollBack());
  }

  /**
   * Until somebody has taken the batch away, which on a busy machine may be long after its lease: longer than a session lives in the storm, so
   * on one that nobody disturbs.
   */
  async #handleTooLong(got: Delivery[]): Promise<void> {
    const { lookUps } = this.#storm;
    const batch = got[0]?.batch;
    const isOver = async (): Promise<boolean> =>
      (await lookUps.query("select coalesce(final, true) as over from pgque.batch_state($1)", [batch])).rows[0].over;
    while (!(await isOver())) {
      if (!this.#storm.raging) return;
      await pause(20);
    }
    const { rows } = await lookUps.query("select pgque.ack($1) as done", [batch]);
    if (rows[0].done !== 0) throw new Error(`acked although it was over: batch ${batch} of ${this.#consumer}`);
    this.#refused(endsOf(got, "ack", 0));
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
    const fates = Map.groupBy(got, (delivery) => this.#fateOf(delivery));
    const waitMs = this.#storm.random() * 500;
    await (this.#likely(0.3) ? this.#settleAtOnce(batch, fates, waitMs) : this.#settleInParts(batch, fates, waitMs));
  }

  #fateOf({ payload }: Delivery): End["how"] {
    if (payload.startsWith("poison") || this.#likely(0.08)) return "nack";
    if (this.#likely(0.05)) return "snooze";
    if (this.#likely(0.05)) return "release";
    return this.#likely(0.01) ? "bury" : "ack";
  }

  async #settleAtOnce(batch: string | undefined, fates: Fates, waitMs: number): Promise<void> {
    const waits = (ids: string): string =>
      `array_fill($2::float8 * interval '1 ms', array[cardinality(${ids}::bigint[])])`;
    await this.#try(
      `settle($1, retry_ids => $3, retry_after => ${waits("$3")}, release_ids => $4, snooze_ids => $5, snooze_after => ${waits("$5")}, dead_ids => $6)`,
      [batch, waitMs, ...(["nack", "release", "snooze", "bury"] as const).map((how) => idsOf(fates.get(how)))],
      [...fates].flatMap(([how, deliveries]) => endsOf(deliveries, how, waitMs)),
    );
  }

  /** What would be released is acked: to give it back without using an attempt is a way to finish a batch. */
  async #settleInParts(batch: string | undefined, fates: Fates, waitMs: number): Promise<void> {
    const calls = {
      nack: "nack(batch_id => $1, message_ids => $2, retry_after => $3::float8 * interval '1 ms', reason => 'bad')",
      snooze: "snooze($1, $2::bigint[], $3::float8 * interval '1 ms')",
      bury: "bury($1, $2::bigint[], 'instead of in ' || $3::float8)",
    };
    for (const how of ["nack", "snooze", "bury"] as const) {
      const deliveries = fates.get(how);
      if (deliveries === undefined) continue;
      const values = [batch, idsOf(deliveries), waitMs];
      if (!(await this.#try(calls[how], values, endsOf(deliveries, how, waitMs)))) return;
    }
    const good = [...(fates.get("ack") ?? []), ...(fates.get("release") ?? [])];
    const some = this.#likely(0.2) ? good.slice(0, good.length / 2) : good;
    if (some.length === 0) return;
    const ends = endsOf(some, "ack", waitMs);
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

type Fates = Map<End["how"], Delivery[]>;

function endsOf(deliveries: Delivery[], how: End["how"], waitMs: number): Settled[] {
  const notBefore = how === "nack" || how === "snooze" ? Date.now() + waitMs : 0;
  return deliveries.map((delivery) => ({ delivery, how, notBefore }));
}

const idsOf = (deliveries: Delivery[] = []): string[] => deliveries.map(({ id }) => id);
