import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { freshDatabase } from "../../../test/support/database.ts";

const run = promisify(execFile);

test("PgQue's Python client sends, and its Consumer handles, retries, listens and shares, unchanged", async () => {
  await using database = await freshDatabase();
  const client = await database.connect();
  await client.query("select pgque.create_queue('orders'), pgque.subscribe('orders', 'billing')");
  const folder = await mkdtemp(join(tmpdir(), "pgque-python-"));
  try {
    await run("python3", ["-m", "venv", folder]);
    await run(join(folder, "bin/pip"), ["install", "--quiet", "pgque-py==0.2.2"]);
    const { stdout } = await run(join(folder, "bin/python"), [join(import.meta.dirname, "consumer.py"), database.url]);
    expect(JSON.parse(stdout)).toEqual({
      ticked: 4,
      // what failed comes again with its count; the last was sent while the Consumer slept, once for each of the two
      handled: [
        [1, null],
        [2, null],
        [3, null],
        [2, 1],
        [5, null],
        [5, null],
      ],
      left: [1, 0],
      missing: "PgqueConsumerNotFound",
    });
    expect((await client.query("select from pgque.open_batches(1)")).rowCount).toBe(0);
  } finally {
    await rm(folder, { recursive: true });
  }
});
