import {
  boolean,
  completed,
  expecting,
  integer,
  problemsOf,
  refuse,
  withMethods,
  type OptionsOf,
  type OptionTable,
} from "@pgque/client/options";
import { register, type Registry } from "prom-client";
import { Worker } from "../worker.ts";
import { countEvents } from "./event-metrics.ts";
import { MetricRegistry } from "./metric-registry.ts";
import { gaugeQueues } from "./queue-metrics.ts";
import { gaugeWorkers } from "./worker-metrics.ts";

const metricsOptions = {
  /** Where the metrics are kept. Default: the default registry of prom-client. */
  registry: {
    check: withMethods<Registry>("a registry of prom-client", "registerMetric", "getSingleMetric"),
    default: register,
    absent: "the default registry of prom-client",
    help: "where the metrics are kept",
  },
  /** What every name begins with. Default: `pgque_`. */
  prefix: {
    check: expecting<string>(
      "the beginning of a Prometheus name",
      (value) => typeof value === "string" && /^[a-zA-Z_:][a-zA-Z0-9_:]*$/.test(value),
    ),
    default: "pgque_",
    help: "what every name begins with",
  },
  /** Whether handled messages and handlers' durations have a label `type`, as many as the application has types. Default: false. */
  types: { check: boolean, default: false, help: "whether messages have a label for their type" },
  /**
   * Whether each scrape asks the database how far the consumers of the workers' queues are, and what the queues store. Needs the right to look, which
   * `<schema>_viewer` has. Default: false.
   */
  queues: { check: boolean, default: false, help: "whether each scrape asks how far consumers are" },
  /** For so long a scrape waits for the database, in milliseconds; then it goes without what it asked for. 1 to 60000. Default: 2000 (2 s). */
  queuesTimeoutMs: { check: integer(1, 60_000), default: 2000, help: "how long a scrape waits for the database" },
} satisfies OptionTable;

/** What is collected, and where. */
export interface MetricsOptions extends OptionsOf<typeof metricsOptions> {}

const workersCheck = expecting(
  "an array of workers",
  (value) => Array.isArray(value) && value.every((worker) => worker instanceof Worker),
);

/** What `collectMetrics` began. */
export interface CollectedMetrics extends Disposable {
  /** Listens no more, and takes the metrics out of the registry. */
  stop(): void;
}

/**
 * Prometheus metrics of workers, by their events and, at each scrape, their health. Workers of one consumer add up. Labels are `queue` and
 * `consumer` and what docs/observability.md lists; never ids.
 *
 * @param workers started or not; of one or several databases
 * @throws PgqueError INVALID_OPTION, also when the registry has metrics of these names already
 * @example
 * collectMetrics([billing, mailer]);
 * createServer(async (_, response) => response.end(await register.metrics())).listen(9090);
 */
export function collectMetrics(workers: readonly Worker<never>[], options: MetricsOptions = {}): CollectedMetrics {
  refuse("collectMetrics", [workersCheck("workers", workers), ...problemsOf(options, metricsOptions)]);
  const { registry, prefix, types, queues, queuesTimeoutMs } = completed(options, metricsOptions);
  refuse("collectMetrics", [
    registry.getSingleMetric(`${prefix}messages_handled_total`) === undefined
      ? undefined
      : `expected a registry without metrics of the prefix ${prefix}: collect all workers in one call`,
  ]);
  const metricRegistry = new MetricRegistry(registry, prefix);
  const listening = countEvents(workers, metricRegistry, types);
  gaugeWorkers(workers, metricRegistry);
  if (queues) gaugeQueues(workers, metricRegistry, queuesTimeoutMs);
  const stop = (): void => {
    listening();
    metricRegistry.clear();
  };
  return { stop, [Symbol.dispose]: stop };
}
