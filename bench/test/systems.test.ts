import { mkdtemp, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { expect, test, vi } from "vitest";
import { freshDatabase } from "../../test/support/database.ts";
import { systemNamed } from "#src/adapters/registry";
import { runBench } from "#src/scenarios/xmin/xmin";
import { openSystem } from "./support/open-system.ts";

test("a trial whose system needs a file that was not given is not run and says why", async () => {
  const resultsFolder = await mkdtemp(path.join(os.tmpdir(), "pgque test systems "));
  try {
    const options = { quick: true, durationSeconds: 1, systems: ["pgmq", "pgq", "pgq-universal"], horizons: ["none"] };
    const { results } = await runBench({ ...options, resultsFolder });
    expect(results.trials.map(({ skipped, error }) => [skipped, error])).toEqual(
      ["--pgmq-sql", "--pgq-sql", "--pgq-universal-sql"].map((option) => [
        `its SQL is not ours to ship and no file of it was given: ${option} FILE`,
        null,
      ]),
    );
  } finally {
    await rm(resultsFolder, { recursive: true });
  }
});

test.each([
  ["graphile-worker", "graphile_worker"],
  ["bullmq-postgres", "bullmq"],
])("what %s tells its listeners alone fails the trial", async (name, schema) => {
  await using database = await freshDatabase();
  const { admin, running } = await openSystem(systemNamed(name), database);
  if (running.consumers.kind !== "pushed") throw new Error("expected consumers that run by themselves");
  await running.consumers.start();
  await running.maintain?.();

  await vi.waitFor(() => admin.query(`drop schema ${schema} cascade`), { timeout: 50_000 }); // its runners may be in the way
  await running.send[0]?.(['{"t":1}']).catch(() => undefined);
  await vi.waitFor(() => expect(running.maintain?.()).rejects.toThrow(), { timeout: 50_000 });
  await expect(running.close?.()).rejects.toThrow();
});
