import type { OptionDifference, Pgque, Queue } from "@pgque/client";
import type { ResolvedOptions } from "./resolve-options.ts";
import { declareSchedules } from "./schedule/declared.ts";

/** What is done before a worker receives: queue, consumer and schedules are there after it. What is there already stays as it is. */
export class Preparation {
  readonly #pgque: Pgque;
  readonly #queue: Queue;
  readonly #options: ResolvedOptions;
  /** The warning of the last time: a worker may be started often, and what differs is said once. */
  #said = "";

  constructor(pgque: Pgque, queue: Queue, options: ResolvedOptions) {
    this.#pgque = pgque;
    this.#queue = queue;
    this.#options = options;
  }

  /**
   * @param signal of a stop that waits no longer
   * @throws PgqueError of the database
   */
  async run(signal: AbortSignal): Promise<void> {
    const { consumer, mode, onFailure, schedules, attempts, queryTimeoutMs } = this.#options;
    const queue = await this.#pgque.ensure(this.#queue, { signal });
    const settings = mode === "ordered" ? { mode, onFailure } : {};
    const reader = await this.#pgque.subscribe(this.#queue, consumer, { ...settings, signal });
    this.#warnOfDifferences(queue.differences, reader.differences);
    if (reader.skipped > 0) this.#warnOfSkipped(reader.skipped);
    await attempts.read(this.#pgque, this.#queue, queryTimeoutMs, signal);
    await declareSchedules(this.#pgque, this.#queue, schedules, signal);
  }

  #warnOfDifferences(ofQueue: readonly OptionDifference[], ofConsumer: readonly OptionDifference[]): void {
    const differences = [...ofQueue, ...ofConsumer].map(
      ({ option, wanted, found }) => `${option} is ${found ?? "none"}, not ${wanted}`,
    );
    const said = differences.join("; ");
    if (said !== "" && said !== this.#said)
      this.#options.log.warn(
        "the database has other options than the definition, and keeps them: change them with `pgque.queues.change` or `pgque.consumers.change`, or change the definition",
        { differences: said },
      );
    this.#said = said;
  }

  #warnOfSkipped(skipped: number): void {
    const count = skipped > 10_000 ? "more than 10,000" : String(skipped);
    this.#options.log.warn(
      `the consumer is new and begins with what is sent from now on, so it skips messages: subscribe it from "earliest" before its first worker starts, or bring them now with \`pgque.consumers.seek(queue, consumer, "earliest")\``,
      { skipped: count },
    );
  }
}
