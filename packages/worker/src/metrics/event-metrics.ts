import type { Message } from "@pgque/client";
import { Counter, Histogram } from "prom-client";
import type { WorkerEventName, WorkerEvents, WorkerListener } from "../events/worker-events.ts";
import type { Worker } from "../worker.ts";
import type { Labels, MetricRegistry } from "./metric-registry.ts";

/** From a millisecond's work to a minute's. */
const durationBuckets = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** From what is handled at once to what has waited a day. */
const ageBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 15, 60, 300, 1800, 7200, 86_400];

/** Counts what workers tell. `types`: also by the messages' types. What is returned listens no more. */
export function countEvents(workers: readonly Worker<never>[], registry: MetricRegistry, types: boolean): () => void {
  const ends: (() => void)[] = [];
  const on = <Name extends WorkerEventName>(
    name: Name,
    tell: (data: WorkerEvents[Name], labels: Labels) => void,
  ): void => {
    for (const worker of workers) {
      const labels = { queue: worker.queue, consumer: worker.consumer };
      const listener: WorkerListener<Name> = (data) => tell(data, labels);
      worker.on(name, listener);
      ends.push(() => void worker.off(name, listener));
    }
  };
  const metric = (name: string, help: string, more: readonly string[] = []) =>
    registry.metric(name, help, ["queue", "consumer", ...more]);
  /** Counts the events of a name; `labelsOf` gives the values of the labels `more`. */
  const count = <Name extends WorkerEventName>(
    event: Name,
    name: string,
    help: string,
    more: readonly string[] = [],
    labelsOf: (data: WorkerEvents[Name]) => Labels = () => ({}),
  ): void => {
    const counter = new Counter(metric(name, help, more));
    on(event, (data, labels) => counter.inc({ ...labels, ...labelsOf(data) }));
  };
  const typeNames = types ? ["type"] : [];
  const typeOf = (message: Message | undefined): Labels =>
    types && message !== undefined ? { type: message.type } : {};

  const handled = new Counter(
    metric("messages_handled_total", "Messages by what the worker says of them.", ["outcome", ...typeNames]),
  );
  const isHandled = (message: Message, outcome: string, labels: Labels): void =>
    handled.inc({ ...labels, ...typeOf(message), outcome });
  on("done", ({ message }, labels) => isHandled(message, "done", labels));
  on("failed", ({ message, outcome }, labels) => isHandled(message, outcome.kind, labels));
  on("snoozed", ({ message }, labels) => isHandled(message, "snooze", labels));
  on("cancelled", ({ message }, labels) => isHandled(message, "cancel", labels));
  on("released", ({ message }, labels) => isHandled(message, "release", labels));

  const duration = new Histogram({
    ...metric("handler_duration_seconds", "How long a call of a handler takes.", typeNames),
    buckets: durationBuckets,
  });
  on("handlerFinished", ({ messages, durationMs }, labels) =>
    duration.observe({ ...labels, ...typeOf(messages[0]) }, durationMs / 1000),
  );

  const age = new Histogram({
    ...metric("message_age_seconds", "From when a message was first sent to each call of its handler."),
    buckets: ageBuckets,
  });
  on("handlerStarted", ({ messages }, labels) => {
    // clocks of machines differ: none was sent in the future
    for (const { createdAt } of messages) age.observe(labels, Math.max(0, (Date.now() - createdAt.getTime()) / 1000));
  });

  const received = new Counter(metric("messages_received_total", "Messages received."));
  on("received", ({ count }, labels) => received.inc(labels, count));
  const settled = new Counter(metric("batches_settled_total", "Batches that were finished."));
  on("settled", ({ isFinished }, labels) => {
    if (isFinished) settled.inc(labels);
  });

  count("received", "receives_total", "Receives that were answered.", ["result"], ({ count }) => ({
    result: count === 0 ? "empty" : "found",
  }));
  count("leaseLost", "leases_lost_total", "Calls that found that the batch is another worker's by now.");
  count("invalid", "messages_invalid_total", "Messages that do not fit the queue's schema.");
  count("unknownType", "messages_unknown_type_total", "Messages of a type that there is no handler for.");
  const lost = "How often a part of a worker lost the database.";
  count("databaseLost", "database_failures_total", lost, ["part"], ({ part }) => ({ part }));
  count("scheduleRun", "scheduled_runs_total", "Messages sent for schedules.");
  return () => {
    for (const end of ends) end();
  };
}
