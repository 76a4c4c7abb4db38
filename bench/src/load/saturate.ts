import { Bench, type Task } from "tinybench";

/** How long one call took, as tinybench has it; null where it did not drive. */
export interface CallTimes {
  calls: number;
  meanMs: number;
  p50Ms: number;
  p99Ms: number;
}

/** One that calls again as soon as its last call has returned. */
export interface Caller {
  name: string;
  call: Parameters<Bench["add"]>[1];
}

/**
 * Each caller is one tinybench task, all of them at once for so many seconds, and each at least once.
 *
 * @param done ends it early, after the calls that are under way: there is nothing left to do
 */
export async function saturate(
  callers: Caller[],
  seconds: number,
  signal: AbortSignal,
  done?: AbortSignal,
): Promise<Task[]> {
  const bench = new Bench({
    concurrency: "bench",
    time: seconds * 1000,
    iterations: 1,
    warmup: false,
    throws: true,
    signal: done === undefined ? signal : AbortSignal.any([signal, done]),
  });
  for (const { name, call } of callers) bench.add(name, call, { async: true });
  const tasks = await bench.run();
  signal.throwIfAborted();
  return tasks;
}

/** All tasks of a kind together: the mean of their percentiles, since they share one load. */
export function timesOf(tasks: Task[], kind: string): CallTimes | null {
  const results = tasks.filter(({ name }) => name.startsWith(kind)).map(({ result, runs }) => ({ result, runs }));
  const measured = results.flatMap(({ result, runs }) =>
    result.state === "completed" || result.state === "aborted-with-statistics"
      ? [{ runs, latency: result.latency }]
      : [],
  );
  if (measured.length === 0) return null;
  const mean = (pick: (latency: (typeof measured)[number]["latency"]) => number): number =>
    measured.reduce((sum, { latency }) => sum + pick(latency), 0) / measured.length;
  return {
    calls: measured.reduce((sum, { runs }) => sum + runs, 0),
    meanMs: mean(({ mean }) => mean),
    p50Ms: mean(({ p50 }) => p50),
    p99Ms: mean(({ p99 }) => p99),
  };
}
