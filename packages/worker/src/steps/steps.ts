import { PgqueError, type Message, type Pgque } from "@pgque/client";
import { stepJson } from "@pgque/client/options";
import { inspect } from "node:util";
import type { Clock } from "../clock.ts";
import type { OpenBatch } from "../settle/open-batch.ts";

/** Parts of a handler that are done once, however often its message is tried again. */
export interface Step {
  /**
   * Calls `fn` and stores what it returns. Where that is stored already, by an earlier attempt on whatever worker, it returns that and does not call `fn`. What
   * it returns is as JSON gives it back, on every attempt. When `fn` throws, nothing is stored.
   *
   * @param name of 1 to 200 bytes, another one for each step of the handler
   * @throws PgqueError LEASE_LOST when the message is somebody else's by now; PAYLOAD_NOT_JSON; INVALID_ARGUMENT for a result above 256 KiB; INVALID_OPTION for
   *   a name that was used before in this attempt, and in a transactional worker
   */
  <Result>(name: string, fn: () => Result | Promise<Result>): Promise<Result>;
  /**
   * Goes on so many milliseconds after the first attempt that came here. Until then the message is snoozed: the attempt ends, and uses none.
   *
   * @throws what the handler must let through
   */
  sleep(name: string, ms: number): Promise<void>;
  /** The same until a time. */
  until(name: string, at: Date): Promise<void>;
}

/** Thrown to leave the handler until its time has come. The message is snoozed, also when the handler does not let it through. */
class Asleep extends Error {
  override readonly name = "Asleep";
}

/** What of a worker's options counts for its steps. */
interface StepOptions {
  consumer: string;
  clock: Clock;
  transactional: boolean;
}

/** The steps of one attempt at a message. */
export class Steps {
  /** When the message is to come again, once the handler sleeps. */
  sleepsUntil: number | undefined;
  readonly #pgque: Pgque;
  readonly #queue: string;
  readonly #batch: OpenBatch;
  readonly #message: Message;
  readonly #options: StepOptions;
  readonly #signal: () => AbortSignal;
  readonly #used = new Set<string>();
  #stored: Promise<Map<string, unknown>> | undefined;

  constructor(
    pgque: Pgque,
    queue: string,
    batch: OpenBatch,
    message: Message,
    options: StepOptions,
    signal: () => AbortSignal,
  ) {
    this.#pgque = pgque;
    this.#queue = queue;
    this.#batch = batch;
    this.#message = message;
    this.#options = options;
    this.#signal = signal;
  }

  get step(): Step {
    const step = <Result>(name: string, fn: () => Result | Promise<Result>): Promise<Result> => this.#run(name, fn);
    return Object.assign(step, {
      sleep: (name: string, ms: number) => {
        if (!(ms >= 0)) throw refused(`step.sleep: expected milliseconds from 0, got: ${inspect(ms)}`);
        return this.#sleep(name, () => this.#options.clock.now() + ms);
      },
      until: (name: string, at: Date) => {
        if (!(at instanceof Date) || Number.isNaN(at.getTime()))
          throw refused(`step.until: expected a valid Date, got: ${inspect(at)}`);
        return this.#sleep(name, () => at.getTime());
      },
    });
  }

  async #run<Result>(name: string, fn: () => Result | Promise<Result>): Promise<Result> {
    this.#use(name);
    this.#stored ??= this.#load();
    const stored = await this.#stored;
    if (stored.has(name)) return stored.get(name) as Result;
    this.#signal().throwIfAborted();
    const { telemetry } = this.#pgque;
    const work = async (): Promise<Result> => fn();
    const source = { queue: this.#queue, consumer: this.#options.consumer };
    const json = stepJson(await (telemetry === undefined ? work() : telemetry.step(source, name, work)));
    if (!(await this.#pgque.runtime.storeStep(this.#batch.id, this.#message.id, name, json)))
      throw new PgqueError("LEASE_LOST", `the result of step ${inspect(name)} was not stored: lease lost`, {
        hint: "Another worker has the message, and does this step again",
      });
    return (json === null ? undefined : JSON.parse(json)) as Result;
  }

  async #sleep(name: string, until: () => number): Promise<void> {
    const at = await this.#run(name, until);
    if (at <= this.#options.clock.now()) return;
    this.sleepsUntil = at;
    throw new Asleep(`sleeps until ${new Date(at).toISOString()}`);
  }

  async #load(): Promise<Map<string, unknown>> {
    const stored = await this.#pgque.messages.steps(this.#queue, this.#message.id, {
      consumer: this.#options.consumer,
    });
    return new Map(stored.map(({ step, result }) => [step, result]));
  }

  #use(name: string): void {
    if (this.#options.transactional)
      throw refused(
        "context.step: expected a worker that is not transactional: its handlers are done as a whole, or not at all",
      );
    if (typeof name !== "string" || name === "" || Buffer.byteLength(name) > 200)
      throw refused(`context.step: expected a name of 1 to 200 bytes, got: ${inspect(name)}`);
    if (this.#used.has(name))
      throw refused(`context.step: expected each step to have a name of its own, got ${inspect(name)} twice`);
    this.#used.add(name);
  }
}

const refused = (problem: string): PgqueError => new PgqueError("INVALID_OPTION", problem);
