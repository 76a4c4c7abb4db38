import { queueOf, type QueueRef } from "../queue/define-queue.ts";
import type { Operations } from "../operations.ts";
import type { Message } from "../types.ts";
import { defaultConsumer } from "../receive/receive.ts";
import { name } from "../options/checks.ts";
import { problemsOf, refuse, type OptionTable, type OptionsOf } from "../options/option.ts";

const processingOptions = {
  /** Who received the message. Default: `default`. */
  consumer: { check: name, default: defaultConsumer, help: "who received the message" },
} satisfies OptionTable;

/** Whose message it is. */
export interface ProcessingOptions extends OptionsOf<typeof processingOptions> {}

/**
 * Runs `work` in the span "process <queue>" of a received message, as a worker does with a handler; just runs it when `pgque` was made
 * without telemetry.
 *
 * @returns what `work` returns; what it throws is recorded and comes through
 * @throws PgqueError INVALID_OPTION
 * @example
 * for (const message of batch) {
 *   await processing(pgque, orders, message, () => charge(message.payload.orderId));
 * }
 */
export async function processing<Result>(
  pgque: Pick<Operations, "telemetry">,
  queue: QueueRef,
  message: Pick<Message, "id" | "type" | "attempt" | "headers">,
  work: () => Result | Promise<Result>,
  options: ProcessingOptions = {},
): Promise<Result> {
  refuse("processing", problemsOf(options, processingOptions));
  const { name: queueName } = queueOf("processing", queue);
  const { consumer = defaultConsumer } = options;
  const { telemetry } = pgque;
  return telemetry === undefined ? work() : telemetry.process(queueName, consumer, message, work);
}
