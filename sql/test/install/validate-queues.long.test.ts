import { validate } from "@pgque/sql";
import { afterEach, beforeEach, expect, test } from "vitest";
import type pg from "pg";
import { freshDatabase, type TestDatabase } from "../../../test/support/database.ts";

let database: TestDatabase;
let client: pg.Client;

beforeEach(async () => {
  database = await freshDatabase();
  client = await database.connect();
});
afterEach(() => database.drop());

test.each([
  ["drop index pgque.message_1_0_lane_txid_seq_idx", ["missing index message_1_0_lane_txid_seq_idx of q"]],
  ["alter table pgque.batch_1_2 reset (autovacuum_enabled)", ["changed relation batch_1_2 of q"]],
  ["alter table pgque.message_1_3 reset (toast.autovacuum_enabled)", ["changed relation message_1_3 of q"]],
  ["alter table pgque.outcome_1_1 set unlogged", ["changed relation outcome_1_1 of q"]],
  [
    "alter table pgque.outcome_1 detach partition pgque.outcome_1_1",
    ["changed index outcome_1_1_pkey of q", "changed relation outcome_1_1 of q"],
  ],
  ["alter table pgque.message_1_1 no inherit pgque.message_1", ["changed relation message_1_1 of q"]],
  ["alter table pgque.message_1_0 add column note text", ["extra column message_1_0.note of q"]],
  ["alter table pgque.message_1_0 alter txid drop default", ["changed column message_1_0.txid of q"]],
  [
    "alter table pgque.message_1_0 add constraint small check (attempt < 9)",
    ["extra constraint message_1_0.small of q"],
  ],
  ["alter sequence pgque.batch_seq_1 no cycle", ["changed sequence batch_seq_1 of q"]],
  ["alter sequence pgque.batch_seq_1 owned by none", ["changed sequence batch_seq_1 of q"]],
  ["grant insert on pgque.message_1_0 to public", ["extra right relation message_1_0 to public of q"]],
  ["create rule lost as on insert to pgque.message_1_0 do instead nothing", ["extra rule message_1_0.lost of q"]],
  [
    "create table pgque.message_1_4 (id int)",
    expect.arrayContaining(["changed relation message_1_4 of q", "missing column message_1_4.payload of q"]),
  ],
  [
    "revoke execute on function pgque.ack_1(bigint) from pgque_reader",
    ["missing right function ack_1(batch bigint) to pgque_reader of q"],
  ],
])("what a queue has of its own is compared: %s", async (change, expected) => {
  await client.query("select pgque.create_queue('q'), pgque.create_queue('other'), pgque.grow_ring(1, 3)");
  await client.query(change);
  const differences = await validate(client);
  expect(differences.map(({ kind, name, queue }) => `${kind} ${name} of ${queue}`)).toEqual(expected);
});
