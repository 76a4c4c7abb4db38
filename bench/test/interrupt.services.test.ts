import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { until } from "../../test/support/until.ts";
import { bin, environment } from "../../packages/cli/test/support/pgque.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), "pgque-test-interrupt-"));
});
afterAll(() => rm(folder, { recursive: true }));

const endsWithinMs = 2000;

test.each(["bullmq", "redis-batch"])(
  "Ctrl-C ends a run of %s and its redis-server within two seconds",
  async (system) => {
    const results = path.join(folder, system);
    const temporary = await mkdtemp(path.join(folder, "tmp-"));
    // Started by root, PostgreSQL runs as another user, who has to reach its data.
    for (const each of [folder, temporary]) await chmod(each, 0o755);
    // A process group of its own stands for a terminal's: Ctrl-C reaches every process in it.
    const run = spawn(
      process.execPath,
      [bin, "bench", "--quick", "--systems", system, "--horizons", "none", "--duration", "60", "--results", results],
      { env: environment({ TMPDIR: temporary }), detached: true, stdio: ["ignore", "ignore", "pipe"] },
    );
    const group = run.pid ?? Number.NaN;
    onTestFinished(() => endGroup(group));
    let progress = "";
    run.stderr.on("data", (chunk: Buffer) => (progress += chunk.toString()));
    const exited = once(run, "exit");
    await until(() => isRedisWriting(temporary), "redis-server has stored messages").catch((error: unknown) => {
      throw new Error(`the run said:\n${progress}`, { cause: error });
    });

    const startMs = performance.now();
    process.kill(-group, "SIGINT");
    const [exitCode] = await exited;
    const lastedMs = performance.now() - startMs;

    expect({ exitCode, progress }).toMatchObject({ exitCode: 130 });
    expect(lastedMs).toBeLessThan(endsWithinMs);
    // Each server's data is in a folder of its own, which is removed after the server has ended.
    expect((await readdir(temporary)).filter((name) => name.startsWith("pgque-bench-redis-"))).toEqual([]);
    expect(JSON.parse(await readFile(path.join(results, "results.json"), "utf8"))).toMatchObject({ interrupted: true });
  },
);

/** True once the append-only file of a redis-server below `temporary` has grown. */
async function isRedisWriting(temporary: string): Promise<boolean> {
  // that of PostgreSQL beside it is renamed while it is made
  const own = (await readdir(temporary)).find((name) => name.startsWith("pgque-bench-redis-"));
  if (own === undefined) return false;
  const data = path.join(temporary, own);
  const log = (await readdir(data, { recursive: true })).find((name) => name.endsWith(".incr.aof"));
  return log !== undefined && (await readFile(path.join(data, log))).length > 100_000;
}

function endGroup(group: number): void {
  try {
    process.kill(-group, "SIGKILL");
  } catch {
    // it has ended
  }
}
