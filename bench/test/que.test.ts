import { expect, test } from "vitest";
import { freshDatabase, type TestDatabase } from "../../test/support/database.ts";
import { payloadDueAt } from "#src/load/messages";
import { lock, lockMultiple, que, quePatched } from "#src/adapters/que";
import { steadyPlans } from "#src/adapters/support/table";
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

test.each([que, quePatched])("$name finds a job with an earlier run_at and a higher id", async (system) => {
  await using database = await freshDatabase();
  const { admin, send, receive } = await openOne(system, database);
  await send([payloadDueAt(1, 75)]);
  expect(await receive()).toBe(1);
  await admin.query("insert into que.job (run_at, payload) values (now() - interval '1 hour', $1)", [
    payloadDueAt(2, 75),
  ]);
  expect(await receive()).toBe(1);
});

test.each([
  ["que finds", que, 1],
  ["que-patched does not find", quePatched, 0],
] as const)("%s a job with a lower id than the last one", async (_name, system, found) => {
  await using database = await freshDatabase();
  const { admin, send, receive } = await openOne(system, database);
  await admin.query("alter table que.job alter job_id restart with 1000");
  await send([payloadDueAt(1, 75)]);
  expect(await receive()).toBe(1);
  await admin.query("insert into que.job (job_id, payload) overriding system value values (1, $1)", [
    payloadDueAt(2, 75),
  ]);
  expect(await receive()).toBe(found);
});

test("que-patched reads the index entries of all dead rows in front of the next job", async () => {
  await using database = await freshDatabase();
  const { admin } = await openOne(quePatched, database);
  const holder = await database.connect();
  await holder.query("begin isolation level repeatable read");
  await holder.query("select 1");
  await steadyPlans(admin);
  const read: number[] = [];
  for (const dead of [1000, 10_000]) {
    await admin.query("insert into que.job (payload) select 'dead' from generate_series(1, $1)", [dead]);
    const { rows } = await admin.query(
      "with gone as (delete from que.job returning job_id) select max(job_id) from gone",
    );
    await admin.query("insert into que.job (payload) values ('next')");
    const [plan] = (await admin.query(`explain (analyze, buffers, format json) ${lockAfter(rows[0].max)}`)).rows;
    const buffers = plan["QUERY PLAN"][0].Plan;
    read.push(buffers["Shared Hit Blocks"] + buffers["Shared Read Blocks"]);
    expect(buffers["Actual Rows"]).toBe(1);
    await admin.query("select pg_advisory_unlock_all()");
  }
  await holder.query("rollback");
  const [few = 0, many = 0] = read;
  expect(many).toBeGreaterThan(5 * few);
});

/** EXPLAIN takes no parameters. */
const lockAfter = (jobId: string): string => lock.replaceAll("$1", jobId).replace("$2", "1");

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
