import { untilAborted } from "../connection/abortable.ts";
import type { Connection } from "../connection/connection.ts";
import { encodePayloads, typeProblem } from "../payload/payload.ts";
import { queueOf, type Queue, type QueueRef } from "../queue/define-queue.ts";
import { show } from "../options/checks.ts";
import { callProblems, completed, refuse } from "../options/option.ts";
import { withManyDefaults } from "./defaults.ts";
import {
  defaultType,
  sendConflicts,
  streamOptions,
  type SendManyOptions,
  type SendStreamOptions,
} from "./send-options.ts";
import { sendTexts } from "./send.ts";

/** So many different dedupe keys a statement of the database takes: each is a lock. */
const dedupeKeysMax = 1000;

type Source = AsyncIterable<unknown> | Iterable<unknown>;

/**
 * Sends what a source yields, in batches. While one statement is under way the next batch is gathered, and no more than that is held in
 * memory. A batch goes off as soon as there is nothing under way, full or not, so that a slow source is not kept waiting.
 */
export async function sendStream(
  db: Connection,
  ref: QueueRef,
  source: Source,
  options: SendStreamOptions = {},
): Promise<number> {
  const queue = queueOf("sendStream", ref);
  refuse("sendStream", [
    isSource(source) ? undefined : `expected \`source\` to be an iterable or async iterable, got: ${show(source)}`,
    ...callProblems(options, streamOptions),
    ...sendConflicts(options, queue.defaults.dedupeKey !== undefined),
    typeProblem(queue, options?.type),
  ]);
  options.signal?.throwIfAborted();
  return new Stream(db, queue, options).run(source);
}

class Stream {
  readonly #db: Connection;
  readonly #queue: Queue;
  readonly #type: string;
  readonly #options: SendManyOptions;
  readonly #onSent: SendStreamOptions["onSent"];
  readonly #batchSize: number;
  readonly #batchCharsMax: number;
  #texts: string[] = [];
  /** Of each of them: what the source yields may be one object, changed from one to the next. */
  #keys: SendManyOptions[] = [];
  #chars = 0;
  #taken = 0;
  #sent = 0;
  #sending: Promise<void> | undefined;
  #failure: { error: unknown } | undefined;
  /** Ends the wait for the source, or a schema. */
  #interrupt: () => void = () => undefined;

  constructor(db: Connection, queue: Queue, options: SendStreamOptions) {
    const { batchSize: size, batchCharsMax: chars, onSent, type = defaultType, ...rest } = options;
    const { batchSize, batchCharsMax } = completed({ batchSize: size, batchCharsMax: chars }, streamOptions);
    this.#db = db;
    this.#queue = queue;
    this.#type = type;
    this.#options = rest;
    this.#onSent = onSent;
    this.#batchSize = queue.defaults.dedupeKey ? Math.min(batchSize, dedupeKeysMax) : batchSize;
    this.#batchCharsMax = batchCharsMax;
  }

  async run(source: Source): Promise<number> {
    const { signal } = this.#options;
    const iterator = isAsync(source) ? source[Symbol.asyncIterator]() : source[Symbol.iterator]();
    const onAbort = () => this.#fail(signal?.reason);
    signal?.addEventListener("abort", onAbort, { once: true });
    let done = false;
    try {
      for (;;) {
        const next = await this.#unlessFailed(() => iterator.next());
        if (next.done) break;
        await this.#take(next.value);
        if (this.#isFull) await this.#sending;
        if (this.#sending === undefined) this.#begin();
        this.#check();
      }
      done = true;
      await this.#sending;
      this.#begin();
      await this.#sending;
      this.#check();
      return this.#sent;
    } finally {
      signal?.removeEventListener("abort", onAbort);
      // what is gathered when it fails is not sent
      if (!done) this.#texts = [];
      await this.#sending;
      // not waited for: a generator that hangs would hang its caller
      if (!done) void end(iterator).catch(() => undefined);
    }
  }

  /** What comes of the source, or of a schema, unless sending fails before it does. */
  #unlessFailed<T>(work: () => T | Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#interrupt = () => reject(this.#failure?.error);
      if (this.#failure) this.#interrupt();
      Promise.resolve(work()).then(resolve, reject);
    });
  }

  async #take(payload: unknown): Promise<void> {
    const [text = ""] = await this.#unlessFailed(() => encodePayloads(this.#queue, this.#type, [payload], this.#taken));
    this.#texts.push(text);
    this.#keys.push(withManyDefaults(this.#queue, [payload], this.#type, this.#options));
    this.#chars += text.length;
    this.#taken += 1;
  }

  get #isFull(): boolean {
    return this.#texts.length >= this.#batchSize || this.#chars >= this.#batchCharsMax;
  }

  #begin(): void {
    if (this.#texts.length === 0 || this.#failure) return;
    const [texts, keys] = [this.#texts, this.#keys];
    this.#texts = [];
    this.#keys = [];
    this.#chars = 0;
    this.#sending = this.#send(texts, keys)
      .catch((error: unknown) => this.#fail(error))
      .finally(() => {
        this.#sending = undefined;
        // what came meanwhile must not wait for the source, which may be silent for hours
        this.#begin();
      });
  }

  async #send(texts: string[], each: SendManyOptions[]): Promise<void> {
    const listed = <Key>(pick: (of: SendManyOptions) => readonly Key[] | undefined): Key[] | undefined =>
      each.some((of) => pick(of) !== undefined) ? each.flatMap((of) => pick(of) ?? []) : undefined;
    const options = {
      ...each[0],
      keys: listed(({ keys }) => keys),
      dedupeKeys: listed(({ dedupeKeys }) => dedupeKeys),
    };
    const ids = await sendTexts(this.#db, this.#queue, this.#type, texts, options);
    this.#sent += ids.length;
    await untilAborted(Promise.resolve(this.#onSent?.(ids)), this.#options.signal);
  }

  #fail(error: unknown): void {
    this.#failure ??= { error };
    this.#interrupt();
  }

  #check(): void {
    if (this.#failure) throw this.#failure.error;
  }
}

async function end(iterator: AsyncIterator<unknown> | Iterator<unknown>): Promise<void> {
  await iterator.return?.();
}

function isSource(value: unknown): boolean {
  return typeof value === "object" && value !== null && (isAsync(value) || begins(value, Symbol.iterator));
}

function isAsync(source: object): source is AsyncIterable<unknown> {
  return begins(source, Symbol.asyncIterator);
}

function begins(source: object, name: symbol): boolean {
  return typeof Reflect.get(source, name) === "function";
}
