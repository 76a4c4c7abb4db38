import { createHash } from "node:crypto";
import { openDatabase } from "../database.ts";
import { CpuUse } from "../measure/cpu-use.ts";
import { ServerCpu } from "../measure/server-cpu.ts";
import type { StepContext } from "../scenario/scenario.ts";
import type { PickFigures } from "./pick-results.ts";
import type { PickSettings } from "./pick-settings.ts";
import { named, pickers } from "../adapters/registry.ts";
import type { Job } from "../adapters/adapter.ts";

/** Priorities that jobs have, 0 to 9. */
const priorities = 10;

/** Workers do all the jobs that were there at the start. Throws when a job was done twice or never. */
export async function measurePick(
  system: string,
  { server, settings, signal, note }: StepContext<PickSettings>,
): Promise<PickFigures> {
  const picker = named(pickers, system);
  const database = await openDatabase(server, settings.synchronousCommit);
  try {
    const admin = await database.connect("admin");
    const site = { admin, connect: database.connect };
    note("set-up");
    const jobs = Array.from({ length: settings.jobs }, (_, number): Job => ({ number, priority: hashed(number) }));
    await picker.prepare(
      site,
      jobs.map((job) => ({ priority: job.priority, payload: JSON.stringify(job) })),
    );
    const done: Job[] = [];
    const work = (payload: string): void => {
      createHash("md5").update(payload).digest();
      done.push(JSON.parse(payload) as Job);
    };
    const workers = await Promise.all(
      Array.from({ length: picker.connections ?? settings.workers }, () => picker.worker(site, work)),
    );
    await server.checkpoint();
    note("work");
    const cpu = await CpuUse.start(await ServerCpu.of(admin));
    const startMs = performance.now();
    await Promise.all(
      workers.map(async (next) => {
        while (await next()) signal.throwIfAborted();
      }),
    );
    const seconds = (performance.now() - startMs) / 1000;
    const { serverCpuSeconds, harnessCpuSeconds } = await cpu.used();
    if (done.length !== jobs.length || new Set(done.map(({ number }) => number)).size !== jobs.length)
      throw new Error(`expected each of ${jobs.length} jobs to be done once, got: ${done.length} done`);
    return {
      seconds,
      serverCpuSeconds,
      clientCpuSeconds: harnessCpuSeconds,
      outOfOrder: picker.ordered === false ? null : outOfOrder(done, settings.workers),
    };
  } finally {
    await database.close();
  }
}

/** The same priorities in every cell, spread as by chance. */
function hashed(number: number): number {
  return createHash("md5").update(String(number)).digest().readUInt32BE() % priorities;
}

/** How many jobs were begun while more of a higher priority were left than the other workers could have had in hand. */
export function outOfOrder(done: Pick<Job, "priority">[], workers: number): number {
  const left = Array.from({ length: priorities }, () => 0);
  let count = 0;
  for (const { priority } of done.toReversed()) {
    const higher = left.slice(priority + 1).reduce((sum, of) => sum + of, 0);
    if (higher >= workers) count += 1;
    left[priority] = (left[priority] ?? 0) + 1;
  }
  return count;
}
