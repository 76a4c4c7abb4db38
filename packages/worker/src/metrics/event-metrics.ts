import type { Message } from "@pgque/client";
import { Counter, Histogram } from "prom-client";
import type { WorkerEventName, WorkerListener } from "../events/worker-events.ts";
import type { Outcome } from "../execute/outcome.ts";
import type { Worker } from "../worker.ts";
import type { MetricRegistry } from "./metric-registry.ts";

/** From a millisecond's work to a minute's. */
const durationBuckets = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** From what is handled at once to what has waited a day. */
const ageBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 15, 60, 300, 1800, 7200, 86_400];

type Labels = Record<string, string>;

/** Counts what workers tell. `types`: also by the messages' types. What is returned listens no more. */
export function countEvents(
  workers: readonly Worker<never>[],
  metricRegistry: MetricRegistry,
  types: boolean,
): () => void {
  const metrics = metricsOf(metricRegistry, types ? ["type"] : []);
  const ends = workers.map((worker) => {
    const labels = { queue: worker.queue, consumer: worker.consumer };
    const typeOf = (message: Message | undefined): Labels =>
      types && message !== undefined ? { ...labels, type: message.type } : labels;
    return count(worker, metrics, labels, typeOf);
  });
  return () => {
    for (const end of ends) end();
  };
}

type Metrics = ReturnType<typeof metricsOf>;

function metricsOf(metricRegistry: MetricRegistry, byType: readonly string[]) {
  const whose = ["queue", "consumer"];
  const counter = (name: string, help: string, more: readonly string[] = []): Counter =>
    new Counter(metricRegistry.metric(name, help, [...whose, ...more]));
  return {
    handled: counter("messages_handled_total", "Messages by what the worker says of them.", ["outcome", ...byType]),
    duration: new Histogram({
      ...metricRegistry.metric("handler_duration_seconds", "How long a call of a handler takes.", [
        ...whose,
        ...byType,
      ]),
      buckets: durationBuckets,
    }),
    age: new Histogram({
      ...metricRegistry.metric(
        "message_age_seconds",
        "From when a message was first sent to each call of its handler.",
        whose,
      ),
      buckets: ageBuckets,
    }),
    receives: counter("receives_total", "Receives that were answered.", ["result"]),
    received: counter("messages_received_total", "Messages received."),
    settled: counter("batches_settled_total", "Batches that were finished."),
    lost: counter("leases_lost_total", "Calls that found that the batch is another worker's by now."),
    invalid: counter("messages_invalid_total", "Messages that do not fit the queue's schema."),
    unknown: counter("messages_unknown_type_total", "Messages of a type that there is no handler for."),
    failures: counter("database_failures_total", "How often a part of a worker lost the database.", ["part"]),
    scheduledRuns: counter("scheduled_runs_total", "Messages sent for schedules."),
  };
}

function count(
  worker: Worker<never>,
  metrics: Metrics,
  labels: Labels,
  typeOf: (message: Message | undefined) => Labels,
): () => void {
  const ends: (() => void)[] = [];
  const on = <Name extends WorkerEventName>(name: Name, listener: WorkerListener<Name>): void => {
    worker.on(name, listener);
    ends.push(() => void worker.off(name, listener));
  };
  const handled = (message: Message, outcome: Outcome["kind"]): void =>
    metrics.handled.inc({ ...typeOf(message), outcome });
  on("done", ({ message }) => handled(message, "done"));
  on("failed", ({ message, outcome }) => handled(message, outcome.kind));
  on("snoozed", ({ message }) => handled(message, "snooze"));
  on("released", ({ message }) => handled(message, "release"));
  on("handlerStarted", ({ messages }) => {
    // clocks of machines differ: none was sent in the future
    for (const { createdAt } of messages)
      metrics.age.observe(labels, Math.max(0, (Date.now() - createdAt.getTime()) / 1000));
  });
  on("handlerFinished", ({ messages, durationMs }) => metrics.duration.observe(typeOf(messages[0]), durationMs / 1000));
  on("received", (received) => {
    metrics.receives.inc({ ...labels, result: received.count === 0 ? "empty" : "found" });
    metrics.received.inc(labels, received.count);
  });
  on("settled", ({ isFinished }) => {
    if (isFinished) metrics.settled.inc(labels);
  });
  on("leaseLost", () => metrics.lost.inc(labels));
  on("invalid", () => metrics.invalid.inc(labels));
  on("unknownType", () => metrics.unknown.inc(labels));
  on("databaseLost", ({ part }) => metrics.failures.inc({ ...labels, part }));
  on("scheduleRun", () => metrics.scheduledRuns.inc(labels));
  return () => {
    for (const end of ends) end();
  };
}
