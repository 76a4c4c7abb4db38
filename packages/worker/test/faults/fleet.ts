import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { type DeadLetter, Pgque, defineQueue } from "@pgque/client";
import type { WorkerOptions } from "@pgque/worker";
import { Client, type PoolConfig } from "pg";
import { expect } from "vitest";
import { until } from "../../../../test/support/until.ts";
import { Ledger, ledgerOfProcess, poisoned, type Note, whatOf } from "./ledger.ts";
import { spins, unfinished, verdictOf, type Verdict } from "./verdict.ts";

export interface FleetOptions {
  /** Where the test itself connects to. */
  url: string;
  /** Where workers connect to. Default: `url`. */
  workersUrl?: string;
  /** Where senders and readers connect to. Default: `url`. */
  sendersUrl?: string;
  /** How many worker processes. Default: 4. */
  workers?: number;
  /** How many senders. Default: 2. */
  senders?: number;
  /** How many processes receive for an ordered consumer. With any, the queue is one by key. Default: 0. */
  readers?: number;
  /** Options of the workers; `pool`: they are given a pool of the application's, with these options. */
  options?: WorkerOptions & { pool?: PoolConfig };
  /** Each worker process has a worker for each of these, with options of its own. Default: one, for `default`. */
  consumers?: Record<string, ConsumerOptions>;
}

/** `effects`: what its transactional handler has handled is written to the table public.effect. */
export type ConsumerOptions = Pick<WorkerOptions, "mode" | "transactional"> & { batch?: boolean; effects?: boolean };

/** What a verdict has to know of the test. */
interface VerdictOptions {
  /** How long everything may take to be handled. Default: 60 s. */
  drainMs?: number;
  /** Whether a message may be a dead letter whose handler did not come to its end again and again. Default: false. */
  mayBury?: boolean;
}

/** Small batches, so that what may be in flight is little. */
const small = {
  concurrency: 5,
  prefetch: 10,
  batchSize: 5,
  leaseMs: 5000,
  heartbeatIntervalMs: 1000,
  queryTimeoutMs: 5000,
};

/**
 * What a worker with those options may have handled without the database knowing: parts of as many batches as it has handlers, of what it has
 * prefetched, and of the eight batches that wait to be settled.
 */
const inFlightMax = small.concurrency * small.batchSize + small.prefetch + 8 * small.batchSize;

/** How often at least a handler did not come to its end: `maxCrashes`, but the first loss counts for whatever the process had in hand. */
const blameMin = 2;

/** Senders, workers and readers of one queue, each a process of its own, and their ledger. */
export class Fleet implements AsyncDisposable {
  readonly queue = `q-${randomBytes(4).toString("hex")}`;
  readonly folder = mkdtempSync(path.join(os.tmpdir(), "pgque-fleet-"));
  readonly ledger = new Ledger(this.folder);
  readonly workers: ChildProcess[] = [];
  readonly senders: ChildProcess[] = [];
  readonly readers: ChildProcess[] = [];
  readonly pgque: Pgque;
  readonly #options: FleetOptions;
  #note: Note | undefined;
  /** By the test. */
  readonly #ended = new Set<ChildProcess>();
  #isOver = false;

  private constructor(options: FleetOptions) {
    this.#options = options;
    this.pgque = new Pgque(options.url, { retryForMs: 60_000 });
  }

  /** Starts a fleet, and waits until each of its workers and readers has handled something. */
  static async start(options: FleetOptions): Promise<Fleet> {
    const { workers = 4, senders = 2, readers = 0 } = options;
    const fleet = new Fleet(options);
    try {
      await fleet.#makeQueue();
      for (let i = 0; i < workers; i += 1) fleet.startWorker();
      for (let i = 0; i < readers; i += 1) fleet.#startReader();
      for (let i = 0; i < senders; i += 1) fleet.startSender();
      if (senders > 0) for (const child of [...fleet.workers, ...fleet.readers]) await fleet.works(child);
      return fleet;
    } catch (error) {
      await fleet[Symbol.asyncDispose]();
      throw error;
    }
  }

  startWorker(options: FleetOptions["options"] = {}): ChildProcess {
    const { url, workersUrl = url, consumers } = this.#options;
    const given = JSON.stringify({ ...small, ...this.#options.options, ...options, consumers });
    return this.#spawn(this.workers, "worker", workersUrl, [given]);
  }

  startSender(): ChildProcess {
    const { url, sendersUrl = url } = this.#options;
    return this.#spawn(this.senders, "sender", sendersUrl, [JSON.stringify(this.#definition)]);
  }

  /** Workers that nobody has ended. */
  get alive(): ChildProcess[] {
    return this.workers.filter((child) => !hasEnded(child) && !this.#ended.has(child));
  }

  /** Ends a worker by SIGTERM while the others go on, unless the poison does so first. */
  async stop(child: ChildProcess): Promise<void> {
    this.#ended.add(child);
    child.kill("SIGTERM");
    await until(() => hasEnded(child), `process ${child.pid} ends`, 30_000);
    expect([0, poisoned]).toContain(child.exitCode);
  }

  /** Waits until a worker or reader has handled something that it had not handled just now. */
  async works(child: ChildProcess): Promise<void> {
    const about = { pid: child.pid ?? 0 };
    const before = this.ledger.count("handled", about);
    await until(
      () => {
        if (hasEnded(child))
          throw new Error(`process ${child.pid} has ended with ${child.exitCode ?? child.signalCode}`);
        return this.ledger.count("handled", about) > before;
      },
      `process ${child.pid} handles something`,
      60_000,
    );
  }

  /** Waits until all that are not killed go on handling. */
  async allWork(): Promise<void> {
    const left = [...this.workers, ...this.readers].filter((child) => !this.#ended.has(child));
    await Promise.all(left.map((child) => this.works(child)));
  }

  /** What the batches hold that are open under the name of a process. */
  async inFlight(child: ChildProcess): Promise<Set<string>> {
    const { rows } = await this.pgque.pool.query(
      `select m.payload
         from pgque.queue q
        cross join lateral pgque.open_batches(q.id) b
        cross join lateral pgque.batch_messages(b.batch_id) m
        where q.name = $1 and starts_with(b.worker, $2)`,
      [this.queue, `${os.hostname()}:${child.pid}:`],
    );
    return new Set(rows.map(({ payload }) => JSON.parse(payload)));
  }

  /** Whether a heartbeat of a worker has named a session, whose end tells that the worker is dead. */
  async holdsSession(child: ChildProcess): Promise<boolean> {
    const { rowCount } = await this.pgque.pool.query(
      "select from pgque.heartbeat h where starts_with(h.worker, $1) and h.session is not null",
      [`${os.hostname()}:${child.pid}:`],
    );
    return rowCount !== 0;
  }

  /** Sends one message for the test itself. */
  async send(what: string): Promise<void> {
    const note = (this.#note ??= ledgerOfProcess(this.folder));
    note("sending", what);
    await this.pgque.send(this.queue, what);
    note("sent", what);
  }

  async kill(child: ChildProcess): Promise<void> {
    this.#ended.add(child);
    child.kill("SIGKILL");
    await exitOf(child);
  }

  /** Lets the handlers of a worker go on that hold a message. */
  open(child: ChildProcess): void {
    writeFileSync(path.join(this.folder, `open-${child.pid}`), "");
  }

  /**
   * Ends the senders, waits until everything is handled and settled, and ends the others: all that were not ended must still be there and
   * end well. Nothing may be lost, made up or out of order, and nothing have spun.
   */
  async verdict({ drainMs = 60_000, mayBury = false }: VerdictOptions = {}): Promise<Verdict> {
    await end(this.senders.filter((child) => !this.#ended.has(child)));
    await until(() => this.#isDrained(), "everything is handled and settled", drainMs);
    this.#isOver = true;
    const left = [...this.workers, ...this.readers].filter((child) => !this.#ended.has(child));
    expect(left.map(({ exitCode, signalCode }) => exitCode ?? signalCode)).toEqual(left.map(() => null));
    await end(left);
    const dead = await this.deadLetters();
    const all = this.ledger.read();
    expect(dead.filter(({ consumer, what }) => !mayBury || unfinished(all, consumer, what) < blameMin)).toEqual([]);
    // what a schedule sends has no sender
    const entries = all.filter(({ what }) => !what.startsWith("tick/"));
    for (const consumer of this.#consumers) {
      const { lost, phantom } = verdictOf(entries, consumer);
      const gone = lost.filter((what) => !dead.some((one) => one.consumer === consumer && one.what === what));
      expect({ consumer, lost: gone, phantom }).toEqual({ consumer, lost: [], phantom: [] });
    }
    expect(verdictOf(entries, "ordered").outOfOrder).toEqual([]);
    expect(spins(entries)).toEqual([]);
    return verdictOf(entries, "default");
  }

  async deadLetters(): Promise<(DeadLetter & { what: string })[]> {
    const dead = await this.pgque.deadLetters.list(this.queue, { max: 1000 });
    return dead.map((one) => ({ ...one, what: whatOf(one.payload, one.messageId, one.headers) }));
  }

  /** As `verdict`, after so many faults that each hit all workers. */
  async verdictAfter(faults: number): Promise<Verdict> {
    const verdict = await this.verdict();
    expect(verdict.duplicates.length).toBeLessThanOrEqual(faults * this.workers.length * inFlightMax);
    return verdict;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    const children = [...this.workers, ...this.senders, ...this.readers];
    for (const child of children) child.kill("SIGKILL");
    await Promise.all(children.map(exitOf));
    await this.pgque.close();
    rmSync(this.folder, { recursive: true });
  }

  async #makeQueue(): Promise<void> {
    const { pgque, queue } = this;
    await pgque.ensure(defineQueue(queue, this.#definition));
    for (const consumer of this.#consumers)
      await pgque.subscribe(queue, consumer, { mode: consumer === "ordered" ? "ordered" : "shared" });
  }

  get #consumers(): string[] {
    const { readers = 0, consumers = { default: {} } } = this.#options;
    return [...Object.keys(consumers), ...(readers > 0 ? ["ordered"] : [])];
  }

  get #definition(): { maxRetries: number; partitions?: number } {
    return { maxRetries: 100, ...(this.#consumers.includes("ordered") && { partitions: 16 }) };
  }

  #startReader(): void {
    const { url, sendersUrl = url } = this.#options;
    this.#spawn(this.readers, "reader", sendersUrl, []);
  }

  #spawn(list: ChildProcess[], script: string, url: string, args: string[]): ChildProcess {
    const file = path.join(import.meta.dirname, "processes", `${script}.ts`);
    const child = spawn(process.execPath, ["--expose-gc", file, this.folder, this.queue, ...args], {
      env: { ...process.env, DATABASE_URL: url },
      stdio: ["ignore", "inherit", "inherit"],
    });
    list.push(child);
    // as its supervisor does
    child.on("exit", (code) => {
      if (code !== poisoned || this.#ended.has(child)) return;
      this.#ended.add(child);
      if (!this.#isOver) this.startWorker();
    });
    return child;
  }

  /** By one snapshot: what comes back moves from open batch to delayed to deep, and would be missed by looks one after the other. */
  async #isDrained(): Promise<boolean> {
    const client = new Client(this.#options.url);
    try {
      await client.connect();
      await client.query("begin isolation level repeatable read read only");
      const { consumers, queues } = this.pgque.on(client);
      const { delayed } = await queues.status(this.queue);
      const all = await consumers.list(this.queue);
      return delayed === 0 && all.every(({ depth, openBatches }) => depth === 0 && openBatches === 0);
    } finally {
      await client.end();
    }
  }
}

async function end(children: readonly ChildProcess[]): Promise<void> {
  for (const child of children) child.kill("SIGTERM");
  for (const child of children) await until(() => hasEnded(child), `process ${child.pid} ends`, 30_000);
  expect(children.map(({ exitCode }) => exitCode)).toEqual(children.map(() => 0));
}

async function exitOf(child: ChildProcess): Promise<void> {
  if (!hasEnded(child)) await once(child, "exit");
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}
