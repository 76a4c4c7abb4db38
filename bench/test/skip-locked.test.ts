import { expect, test } from "vitest";
import { freshDatabase } from "../../test/support/database.ts";
import { skipLocked, skipLockedRows } from "#src/adapters/skip-locked";
import { payloadDueAt } from "#src/load/payload";
import { openSystem } from "./support/open-system.ts";

test.each([
  ["claims by one UPDATE and deletes the batch by ids", skipLocked, 2],
  ["claims by one UPDATE and deletes one row at a time", skipLockedRows, 4],
] as const)("%s", async (_what, system, transactions) => {
  await using database = await freshDatabase();
  const { admin, running } = await openSystem(system, database);
  const [send] = running.send;
  const [receive] = running.consumers.kind === "pulled" ? running.consumers.receive : [];
  await send?.([1, 2, 3].map((number) => payloadDueAt(number, 75)));
  const xmax = "select xmin::text::int8::int as xid from skip_locked.marker";
  await admin.query("create table skip_locked.marker as select 1 as n");
  const before = (await admin.query<{ xid: number }>(xmax)).rows[0]?.xid ?? 0;
  expect(await receive?.()).toBe(3);
  await admin.query("update skip_locked.marker set n = 2");
  const after = (await admin.query<{ xid: number }>(xmax)).rows[0]?.xid ?? 0;
  expect(after - before - 1).toBe(transactions);
  expect((await admin.query("select from skip_locked.job")).rowCount).toBe(0);
});
