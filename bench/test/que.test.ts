import { expect, test } from "vitest";
import { freshDatabase, type TestDatabase } from "../../test/support/database.ts";
import { payloadDueAt } from "#src/load/payload";
import { lockMultiple } from "#src/adapters/que";
import { quePatched } from "#src/adapters/que";
import { que } from "#src/adapters/que";
import type { System } from "#src/adapters/adapter";
import { openSystem } from "./support/open-system.ts";

/** One producer and one consumer; its batches are of ten. */
async function openOne(system: System, database: TestDatabase) {
  const { admin, running } = await openSystem(system, database);
  const [send] = running.send;
  const [receive] = running.consumers.kind === "pulled" ? running.consumers.receive : [];
  if (send === undefined || receive === undefined) throw new Error("expected a producer and a consumer");
  return { admin, send, receive };
}

test.each([
  ["que", que, [1, 1, 1, 0]],
  ["que-patched", quePatched, [1, 1, 1, 0]],
  ["lock-multiple", lockMultiple, [3, 0, 0, 0]],
] as const)("%s locks as many jobs as it may, finishes them and unlocks them", async (_name, system, finished) => {
  await using database = await freshDatabase();
  const { admin, send, receive } = await openOne(system, database);
  await send([1, 2, 3].map((number) => payloadDueAt(number, 75)));
  for (const jobs of finished) expect(await receive()).toBe(jobs);
  const { rows } = await admin.query(
    "select objid from pg_locks join pg_database on pg_database.oid = database where locktype = 'advisory' and datname = current_database()",
  );
  expect(rows).toEqual([]);
});

test.each([
  ["que finds", que, 1],
  ["que-patched does not find", quePatched, 0],
] as const)("%s a job that comes before the last one in the order of work", async (_name, system, found) => {
  await using database = await freshDatabase();
  const { admin, send, receive } = await openOne(system, database);
  await send([payloadDueAt(1, 75)]);
  expect(await receive()).toBe(1);
  await admin.query("insert into que.job (run_at, payload) values (now() - interval '1 hour', $1)", [
    payloadDueAt(2, 75),
  ]);
  expect(await receive()).toBe(found);
});

test.each([que, lockMultiple])("$name passes over a job that another session has locked", async (system) => {
  await using database = await freshDatabase();
  const { admin, send, receive } = await openOne(system, database);
  await send([payloadDueAt(1, 75)]);
  await admin.query("select pg_advisory_lock(job_id) from que.job");
  await send([payloadDueAt(2, 75)]);
  expect(await receive()).toBe(1);
  expect(await receive()).toBe(0);
  await admin.query("select pg_advisory_unlock_all()");
  expect(await receive()).toBe(1);
});
