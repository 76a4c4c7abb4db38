import { command } from "../command.ts";
import { connectionConfig, type DatabaseFlags } from "../connection.ts";
import { flag, port } from "../options.ts";
import { loadPromClient } from "../optional-packages.ts";
import { UsageError } from "../output/failure.ts";
import { counted } from "../output/text.ts";
import { stopSignals } from "../signals.ts";
import type { LoadedTask } from "../worker/load-tasks.ts";
import { type LogFlags, logFormats, logLevels, workerLog } from "../worker/log.ts";
import { taskOptions } from "../worker/task-options.ts";
import type { Logger, Worker, WorkerOptions } from "@pgque/worker";
import type { Fleet } from "../worker/fleet.ts";
import type { Monitored } from "../worker/probes.ts";

interface Flags extends DatabaseFlags, LogFlags {
  /** From the configuration; the argument counts for more. */
  folder?: string;
  queue?: string[];
  crontab?: string;
  once?: true;
  watch?: true;
  metricsPort?: number;
  metricsHost: string;
  metricsQueues?: true;
}

export const workerCommand = command("worker", {
  description: "Run the handlers of a folder until stopped.",
  help: `
Each file of the folder is a task and serves the queue of its name: tasks/orders.ts serves "orders". Files whose names begin
with "_", tests and folders below are no tasks. TypeScript runs as it is, with type annotations only (no enum, no namespace).
A file exports a function by default:

  export default async (message, { signal, log, attempt }) => {
    await charge(message.payload.orderId, { signal });
  };

or an object, for a typed queue and the options of a worker (concurrency, consumer, …):

  import { defineTask } from "pgque";
  export default defineTask({ queue: orders, concurrency: 50, handler: async ({ payload }) => { … } });

A message whose handler throws is tried again later.

A crontab has one schedule a line, as graphile-worker's has: <time> <queue> [?options] [payload]. The worker sets the schedules
when it starts. This needs the role <schema>_admin, unless the database has the same schedules already.

  0 3 * * MON-FRI   reports   ?id=nightly&timeZone=Europe/Berlin   {"kind": "daily"}

Options may be in pgque.config.ts, by their names in camel case. The environment overrides the file, and the command line
overrides both:

  import { defineConfig } from "pgque";
  export default defineConfig({ folder: "tasks", concurrency: 20, metricsPort: 9090 });

--once drains the queues and exits, messages that handlers send to each other's queues included. It exits with 1 when a message
became a dead letter. Retries and delayed messages are left for later. It serves no metrics.

--watch loads the files again when one changes. Workers with the new handlers start, then the old ones stop, and their handlers
finish. While a file does not load, the old handlers go on. This is for development: each change keeps some memory.

--metrics-port serves /metrics for Prometheus, /healthz and /readyz. /healthz answers 503 when only a restart helps. /readyz
answers 503, with the reasons, while the worker starts or stops, or after 10 s without the database.

The first SIGTERM or Ctrl-C stops receiving, waits for running handlers (30 s) and exits with 0. The second one aborts handlers,
releases their messages and exits with 1. The third one exits immediately with 1.

A task, crontab or configuration that is wrong changes nothing: the error names its place, and the exit code is 2. It is 1 when
a file throws, which may pass.

Examples:
  pgque worker tasks/
  pgque worker tasks/ --watch --log-level debug
  pgque worker tasks/ --once --queue reports
  pgque worker tasks/ --crontab crontab --concurrency 50
  pgque worker dist/tasks --metrics-port 9090 --metrics-host 0.0.0.0
  pgque worker dist/tasks --database-url postgres://app@localhost/app`,
  arguments: [["[folder]", "folder of task files; may be in pgque.config.ts instead"]],
  options: [
    flag("--queue <name>", "serve this queue alone; may be given several times (default: all of the tasks)", {
      read: (name, before?: string[]) => [...(before ?? []), name],
      env: true,
    }),
    flag("--crontab <file>", "file of schedules to set, for queues that the tasks serve", { env: true }),
    flag("--once", "drain the queues, and exit").conflicts("watch"),
    flag("--watch", "restart the handlers when a file of the folder changes"),
    flag("--metrics-port <port>", "serve /metrics, /healthz and /readyz; 0: any free port, which is logged", {
      read: port,
      env: true,
    }),
    flag("--metrics-host <address>", "the address to listen at", { default: "127.0.0.1", env: true }),
    flag("--metrics-queues", "also report the progress of consumers at each scrape; enough in one worker"),
    flag("--log-level <level>", "the least that is logged", { choices: logLevels, default: "info", env: true }),
    flag("--log-format <format>", "JSON lines, or for people (default: pretty on a terminal, else json)", {
      choices: logFormats,
      env: true,
    }),
    ...taskOptions.options({ env: true, group: "Options of tasks that do not set them:" }),
  ],
  json: false,
  async run(argument: string | undefined, flags: Flags) {
    const folder = argument ?? flags.folder;
    if (folder === undefined)
      throw new UsageError(
        "expected a folder of tasks, found none. Name it: pgque worker tasks/, or `folder` in pgque.config.ts",
      );
    const config = connectionConfig(flags);
    const { Fleet } = await import("../worker/fleet.ts");
    const log = await workerLog(flags);
    const make = async (): Promise<Fleet> => Fleet.of(await tasksOf(folder, flags), config, flags.schema, log);
    if (!flags.watch) {
      const fleet = await make();
      return flags.once ? runOnce(fleet, log) : run(fleet, flags, log);
    }
    const { freshImports, watchFolder } = await import("../worker/reload.ts");
    const forget = freshImports(folder);
    await run(await make(), flags, log, (reload, signal) => {
      const remake = (): Promise<Fleet> => {
        forget();
        return make();
      };
      watchFolder(folder, () => reload(remake), signal);
      log.info("watching", { folder });
    });
  },
});

/**
 * Drains the queues and logs the outcomes. Retries are left for later.
 *
 * @throws Error when a message became a dead letter, or when it was stopped before all was done
 */
async function runOnce(fleet: Fleet, log: Logger): Promise<void> {
  const { first, second } = stopSignals();
  const stop = new AbortController();
  void first.then(() => stop.abort());
  void second.then(() => fleet.force());
  try {
    const summary = await fleet.drain(stop.signal);
    log.info("drained", summary);
    if (summary.dead > 0) {
      throw new Error(
        `${counted(summary.dead, "message")} failed for good and ${summary.dead === 1 ? "is a dead letter" : "are dead letters"}. ` +
          "pgque dlq list QUEUE shows why, pgque dlq redrive QUEUE sends them again",
      );
    }
    if (stop.signal.aborted) throw new Error("stopped before the queues were drained: open messages were released");
  } finally {
    await fleet.stop();
  }
}

/** Runs a fleet until told to stop. `watch`: has others run in its place. */
async function run(
  fleet: Fleet,
  flags: Flags,
  log: Logger,
  watch?: (reload: (make: () => Promise<Fleet>) => void, signal: AbortSignal) => void,
): Promise<void> {
  const [{ Service }, collect] = await Promise.all([import("../worker/service.ts"), collector(flags)]);
  const service = new Service(log, collect);
  const probes = await serveProbes(flags, () => service.monitored, log);
  const over = new AbortController();
  try {
    const signals = stopSignals();
    await Promise.race([service.serve(fleet), signals.first]);
    watch?.((make) => service.reload(make), over.signal);
    await service.until(signals);
  } finally {
    over.abort();
    await service.stop();
    await probes?.close();
  }
}

async function collector(flags: Flags): Promise<(workers: readonly Worker[]) => Monitored | undefined> {
  if (flags.metricsPort === undefined) return () => undefined;
  const { Registry } = await loadPromClient();
  const { collectMetrics } = await import("@pgque/worker/metrics");
  return (workers) => {
    const registry = new Registry();
    collectMetrics(workers, { registry, queues: flags.metricsQueues ?? false });
    return { workers, registry };
  };
}

async function serveProbes(
  { metricsPort, metricsHost }: Flags,
  monitored: () => Monitored | undefined,
  log: Logger,
): Promise<import("../worker/probes.ts").Probes | undefined> {
  if (metricsPort === undefined) return undefined;
  const { serveProbes: serve } = await import("../worker/probes.ts");
  const probes = await serve({ port: metricsPort, host: metricsHost }, monitored);
  log.info("serving /metrics, /healthz and /readyz", { url: probes.url });
  return probes;
}

async function tasksOf(folder: string, flags: Flags): Promise<LoadedTask[]> {
  const [{ loadTasks, tasksFor }, { withCrontab }] = await Promise.all([
    import("../worker/load-tasks.ts"),
    import("../worker/crontab.ts"),
  ]);
  const { crontab, queue } = flags;
  const tasks = await loadTasks(folder, taskOptions.given(flags) as WorkerOptions);
  const planned = crontab === undefined ? tasks : await withCrontab(tasks, crontab);
  return queue === undefined ? planned : tasksFor(planned, queue);
}
