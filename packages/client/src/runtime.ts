import type { Borrowed } from "./connection/borrowed.ts";
import type { Connection } from "./connection/connection.ts";
import type { WorkerStatus } from "./admin/queue-status.ts";
import * as queries from "./queries/runtime.ts";
import { workerStatus } from "./queries/status.ts";
import type { Batch } from "./receive/batch.ts";
import type { ReceiveOptions } from "./receive/receive-options.ts";
import { receive, receiveTexts, type Reading } from "./receive/receive.ts";
import { Settler, WorkerSettler } from "./settle/settler.ts";
import type { Message, MessageOf, MessageTypes, Source } from "./types.ts";
import { queueOf, type QueueRef } from "./queue/define-queue.ts";
import { id, type Id, ids, integer, name, sizedText, text } from "./options/checks.ts";
import { callProblems, refuse, type CallOptions } from "./options/option.ts";

const dayMs = 86_400_000;

/** What a runtime needs that keeps workers: heartbeats, wake-up, upkeep. `@pgque/worker` is one; an application rarely calls these. */
export class Runtime {
  readonly #db: Connection;

  constructor(db: Connection) {
    this.#db = db;
  }

  /**
   * Keeps alive every batch that was received with this worker name, or with one of these. Send one every third of `ttlMs`.
   *
   * @param worker one name, or any number of them, whose heartbeats are one statement
   * @param ttlMs how long it counts, in milliseconds, 1 to 86400000 (a day). Default: 15000
   * @param session what `holdSession` was given: when that connection ends, so do the worker's leases
   * @example
   * const batch = await pgque.receive(orders, { worker: "host-1" });
   * await pgque.runtime.heartbeat("host-1");
   */
  async heartbeat(
    worker: string | readonly string[],
    ttlMs: number = 15_000,
    session?: string,
    options: CallOptions = {},
  ): Promise<void> {
    const workers = typeof worker === "string" ? [worker] : worker;
    refuse("heartbeat", [
      ...(Array.isArray(workers) ? workers.map((name) => text("worker", name)) : [text("worker", worker)]),
      integer(1, dayMs)("ttlMs", ttlMs),
      session === undefined ? undefined : text("session", session),
      ...callProblems(options),
    ]);
    return queries.heartbeat(this.#db, workers, ttlMs, session ?? null, options.signal);
  }

  /**
   * Receives as `pgque.receive` does, and says that there is a batch before its payloads are checked: a schema may take long, and the lease is to be
   * kept meanwhile.
   *
   * @param reading `onLeased`: told of it; `checkMs`: how long a schema may take for each payload
   * @example
   * const keep = (): void => void pgque.runtime.heartbeat("host-1");
   * const batch = await pgque.runtime.receive(orders, { worker: "host-1" }, { onLeased: keep });
   */
  async receive<Types extends MessageTypes>(
    queue: QueueRef<Types>,
    options: ReceiveOptions = {},
    reading: Reading = {},
  ): Promise<Batch<MessageOf<Types>>> {
    return receive(this.#db, new Settler(this.#db), queue, options, reading);
  }

  /**
   * Receives payloads as the texts that are stored, to pass them on as they are. `finished`: a batch that is acked in the same call and transaction.
   *
   * @example
   * const batch = await pgque.runtime.receiveTexts(orders, { max: 1000 });
   * for (const { payload } of batch) console.log(payload.length, "characters of JSON");
   */
  async receiveTexts(queue: QueueRef, options: ReceiveOptions = {}, finished?: Id): Promise<Batch<Message<string>>> {
    return receiveTexts(
      this.#db,
      new Settler(this.#db),
      queue,
      options,
      finished === undefined ? undefined : String(finished),
    );
  }

  /**
   * Settles batches by their ids, as the client itself does, and says in its telemetry whose they are.
   *
   * @example
   * const batch = await pgque.receive(orders);
   * if (batch.id !== null) await pgque.runtime.settler({ queue: "orders", consumer: "default" }).ack(batch.id);
   */
  settler(source: Source): WorkerSettler {
    return new WorkerSettler(this.#db, source);
  }

  /**
   * Stores the result of a step of a message that is in hand, unless one of that name is there: the first stays. See `messages.steps`.
   *
   * @param json the result as JSON, of 256 KiB at most; null: none
   * @returns false when the lease was lost, or the message is settled: nothing was stored
   * @throws PgqueError INVALID_ARGUMENT
   * @example
   * const { id, messages } = await pgque.receive(orders);
   * if (id !== null && messages[0]) await pgque.runtime.storeStep(id, messages[0].id, "charge", JSON.stringify({ charged: 5 }));
   */
  async storeStep(
    batchId: Id,
    messageId: Id,
    step: string,
    json: string | null,
    options: CallOptions = {},
  ): Promise<boolean> {
    refuse("storeStep", [
      id("batchId", batchId),
      id("messageId", messageId),
      sizedText(1, 200)("step", step),
      ...callProblems(options),
    ]);
    return queries.storeStep(this.#db, { batchId, messageId, step, json }, options.signal);
  }

  /**
   * Says that messages are done, after it was committed: their steps need not be kept.
   *
   * @example
   * await pgque.runtime.forgetSteps(orders, "default", ["42"]);
   */
  async forgetSteps(
    queue: QueueRef,
    consumer: string,
    messageIds: readonly Id[],
    options: CallOptions = {},
  ): Promise<void> {
    refuse("forgetSteps", [name("consumer", consumer), ids("messageIds", messageIds), ...callProblems(options)]);
    const named = { queue: queueOf("forgetSteps", queue).name, consumer };
    await queries.forgetSteps(this.#db, named, messageIds, options.signal);
  }

  /**
   * Keeps what handlers report of messages, for a day: see `messages.progress`. Of a value that is longer than 8000 characters the rest is lost.
   *
   * @param reports at most 1000; `value`: JSON of `progress`, a line of `log`
   * @example
   * const progress = { id: "42", attempt: 1, kind: "progress" as const, value: "0.5" };
   * await pgque.runtime.reportProgress(orders, "default", [progress]);
   */
  async reportProgress(
    queue: QueueRef,
    consumer: string,
    reports: readonly queries.ProgressReport[],
    options: CallOptions = {},
  ): Promise<void> {
    refuse("reportProgress", [name("consumer", consumer), ...callProblems(options)]);
    const named = { queue: queueOf("reportProgress", queue).name, consumer };
    await queries.reportProgress(this.#db, named, reports, options.signal);
  }

  /**
   * Takes a connection out of the pool, for a transaction say: its errors end nothing, and it can be cut whatever runs on it. Waits for as long as
   * it takes, or until the signal is aborted; then it waits in the pool's queue no more.
   *
   * @throws PgqueError DATABASE_UNREACHABLE, ACCESS_DENIED, CLOSED; the signal's reason
   * @example
   * const borrowed = await pgque.runtime.borrow();
   * await borrowed.client.query("select 1");
   * borrowed.giveBack();
   */
  async borrow(options: CallOptions = {}): Promise<Borrowed> {
    refuse("borrow", callProblems(options));
    return this.#db.borrow(options.signal);
  }

  /**
   * Holds a lock of that name for as long as this connection lasts, so that a crash is noticed at once: see `heartbeat`. The connection must
   * be a session of its own, not one behind a transaction pooler.
   *
   * @returns false when another session holds it, or was just looking whether one does
   * @example
   * const session = await pgque.pool.connect();
   * await pgque.on(session).runtime.holdSession("host-1");
   * await pgque.runtime.heartbeat("host-1", 15_000, "host-1");
   * session.release();
   */
  async holdSession(session: string): Promise<boolean> {
    refuse("holdSession", [text("session", session)]);
    return this.#db.flag("hold_session", { session });
  }

  /**
   * Raises the idle flag of a queue on this connection, which must be a session of its own that never sends: from now on senders notify
   * the channel `pgque_<queue>`. Before it sleeps a worker asks `hasOpenSenders` until the answer is no, and then receives once more.
   *
   * @returns false when a sender was just looking at it: try again
   * @example
   * const session = await pgque.pool.connect();
   * await session.query("listen pgque_orders");
   * while (!(await pgque.on(session).runtime.raiseIdleFlag(orders)));
   * session.release(true);
   */
  async raiseIdleFlag(queue: QueueRef): Promise<boolean> {
    const { name } = queueOf("raiseIdleFlag", queue);
    return this.#db.flag("raise_idle_flag", { queue: name }, { queue: name });
  }

  /**
   * Takes the idle flag of this connection down: nobody need wake it.
   *
   * @example
   * await pgque.on(tx).runtime.lowerIdleFlag(orders);
   */
  async lowerIdleFlag(queue: QueueRef): Promise<boolean> {
    const { name } = queueOf("lowerIdleFlag", queue);
    return this.#db.flag("lower_idle_flag", { queue: name }, { queue: name });
  }

  /**
   * Whether somebody has sent and not committed: senders that looked before the flag was raised do not notify.
   *
   * @example
   * const soon = await pgque.runtime.hasOpenSenders(orders);
   */
  async hasOpenSenders(queue: QueueRef): Promise<boolean> {
    const { name } = queueOf("hasOpenSenders", queue);
    return this.#db.flag("has_open_senders", { queue: name }, { queue: name });
  }

  /**
   * Workers that are alive, the one heard of last first.
   *
   * @example
   * for (const { worker, aliveUntil } of await pgque.runtime.workers()) console.log(worker, aliveUntil);
   */
  async workers(options: CallOptions = {}): Promise<WorkerStatus[]> {
    refuse("workers", callProblems(options));
    return workerStatus(this.#db, options.signal);
  }

  /**
   * Delivers what has become due, of whatever queue: the first part of maintenance, in a transaction of its own.
   *
   * @returns how many messages
   * @example
   * while ((await pgque.runtime.deliverDue()) > 0);
   */
  async deliverDue(options: CallOptions = {}): Promise<number> {
    refuse("deliverDue", callProblems(options));
    return this.#db.count("deliver_due", {}, { ...options, idempotent: true });
  }

  /**
   * Which of these queues have something to maintain. Cheap: it reads three sequences of each.
   *
   * @returns their names
   * @example
   * const names = await pgque.runtime.queuesToMaintain([orders]);
   */
  async queuesToMaintain(queues: readonly QueueRef[], options: CallOptions = {}): Promise<Set<string>> {
    refuse("queuesToMaintain", callProblems(options));
    const names = queues.map((queue) => queueOf("queuesToMaintain", queue).name);
    return queries.queuesToMaintain(this.#db, names, options.signal);
  }

  /**
   * Recovers and rotates one queue: the second part of maintenance.
   *
   * @returns how many things were done
   * @example
   * await pgque.runtime.maintainQueue(orders);
   */
  async maintainQueue(queue: QueueRef, options: CallOptions = {}): Promise<number> {
    refuse("maintainQueue", callProblems(options));
    const { name } = queueOf("maintainQueue", queue);
    return this.#db.count("maintain_queue", { queue: name }, { ...options, queue: name, idempotent: true });
  }

  /**
   * Gives back what no queue needs any more, of heartbeats, dedupe keys, runs and delayed messages: the last part of maintenance.
   *
   * @returns how many things were done
   * @example
   * await pgque.runtime.maintainShared();
   */
  async maintainShared(options: CallOptions = {}): Promise<number> {
    refuse("maintainShared", callProblems(options));
    return this.#db.count("maintain_shared", {}, { ...options, idempotent: true });
  }

  /**
   * In how many milliseconds the next delayed message becomes due, of whatever queue: when to call `maintain` again for it to be in time.
   *
   * @returns negative when it is overdue; null when none waits within the hour
   * @example
   * const ms = await pgque.runtime.nextDueInMs();
   */
  async nextDueInMs(options: CallOptions = {}): Promise<number | null> {
    refuse("nextDueInMs", callProblems(options));
    return queries.nextDueInMs(this.#db, options.signal);
  }

  /**
   * How often a message of a queue is tried again: one that fails at a higher attempt than that becomes a dead letter.
   *
   * @example
   * const [message] = (await pgque.receive(orders)).messages;
   * const isLast = Number(message?.attempt) > (await pgque.runtime.maxRetries(orders));
   */
  async maxRetries(queue: QueueRef, options: CallOptions = {}): Promise<number> {
    refuse("maxRetries", callProblems(options));
    const { name } = queueOf("maxRetries", queue);
    return this.#db.count("max_retries", { queue: name }, { ...options, queue: name, idempotent: true });
  }

  /**
   * What time it is by the database's clock, which is the one that counts: those of machines differ. Rounded down to a millisecond.
   *
   * @example
   * const behindMs = Date.now() - (await pgque.runtime.now()).getTime();
   */
  async now(options: CallOptions = {}): Promise<Date> {
    refuse("now", callProblems(options));
    return queries.now(this.#db, options.signal);
  }
}
