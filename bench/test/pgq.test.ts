import { mkdtemp, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { freshDatabase } from "../../test/support/database.ts";
import { pgqUniversal } from "#src/adapters/pgq";
import { noSqlFiles } from "./delivery.ts";
import { openSystem } from "./support/open-system.ts";

/** The calls of a producer, in place of PgQue, whose SQL is not ours to ship. */
const calls = `
  drop schema pgque cascade;
  create schema pgque;
  create table pgque.call (name text, payloads int);
  create function pgque.create_queue(text) returns int language sql return 1;
  create function pgque.set_queue_config(text, text, text) returns int language sql return 1;
  create function pgque.register_consumer(text, text) returns int language sql return 1;
  create function pgque.insert_event(text, text, text) returns void language sql
    as $$ insert into pgque.call values ('insert_event', 1) $$;
  create function pgque.send_batch(text, text, payloads jsonb[]) returns void language sql
    as $$ insert into pgque.call values ('send_batch', cardinality(payloads)) $$;`;

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), "pgque test pgq "));
});
afterAll(() => rm(folder, { recursive: true }));

test.each([
  [1, { name: "insert_event", payloads: 1 }],
  [3, { name: "send_batch", payloads: 3 }],
])("PgQue is sent %i messages by one call of its own", async (sendBatch, call) => {
  const file = path.join(folder, "pgque.sql");
  await writeFile(file, calls);
  await using database = await freshDatabase();
  const { admin, running } = await openSystem(pgqUniversal, database, {
    sendBatch,
    sqlFiles: { ...noSqlFiles, pgqUniversal: file },
  });
  await running.send[0]?.(Array.from({ length: sendBatch }, (_, n) => `{"n":${n}}`));
  const { rows } = await admin.query("select * from pgque.call");
  expect(rows).toEqual([call]);
});
