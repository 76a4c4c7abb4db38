import { inspect } from "node:util";
import { PgqueError } from "@pgque/client";
import { register, type Registry } from "prom-client";
import { Worker } from "../worker.ts";
import { countEvents } from "./event-metrics.ts";
import { MetricRegistry } from "./metric-registry.ts";
import { gaugeQueues } from "./queue-metrics.ts";
import { gaugeWorkers } from "./worker-metrics.ts";

/** What is collected, and where. */
export interface MetricsOptions {
  /** Where the metrics are kept. Default: the default registry of prom-client. */
  registry?: Registry | undefined;
  /** What every name begins with. Default: `pgque_`. */
  prefix?: string | undefined;
  /** Whether handled messages and handlers' durations have a label `type`, as many as the application has types. Default: false. */
  types?: boolean | undefined;
  /**
   * Whether each scrape asks the database how far the consumers of the workers' queues are, and what the queues store. Needs the right to look, which
   * `<schema>_viewer` has. Default: false.
   */
  queues?: boolean | undefined;
  /** For so long a scrape waits for the database, in milliseconds; then it goes without what it asked for. 1 to 60000. Default: 2000. */
  queuesTimeoutMs?: number | undefined;
}

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
  const { registry = register, prefix = "pgque_", types = false, queues = false, queuesTimeoutMs = 2000 } = options;
  const problems = problemsOf(workers, { registry, prefix, queuesTimeoutMs });
  if (problems.length > 0)
    throw new PgqueError("INVALID_OPTION", `collectMetrics: ${problems.join("; ")}`, { details: { problems } });
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

function problemsOf(
  workers: unknown,
  { registry, prefix, queuesTimeoutMs }: { registry: Registry; prefix: string; queuesTimeoutMs: number },
): string[] {
  const problems: string[] = [];
  const expect = (isFine: boolean, name: string, what: string, value: unknown): void => {
    if (!isFine) problems.push(`expected \`${name}\` to be ${what}, got: ${inspect(value, { depth: 0 })}`);
  };
  expect(
    Array.isArray(workers) && workers.every((worker) => worker instanceof Worker),
    "workers",
    "an array of workers",
    workers,
  );
  expect(/^[a-zA-Z_:][a-zA-Z0-9_:]*$/.test(prefix), "prefix", "the beginning of a Prometheus name", prefix);
  const isTime = Number.isSafeInteger(queuesTimeoutMs) && queuesTimeoutMs >= 1 && queuesTimeoutMs <= 60_000;
  expect(isTime, "queuesTimeoutMs", "an integer from 1 to 60000", queuesTimeoutMs);
  const isFree = registry.getSingleMetric(`${prefix}messages_handled_total`) === undefined;
  if (!isFree)
    problems.push(`expected a registry without metrics of the prefix ${prefix}: collect all workers in one call`);
  return problems;
}
