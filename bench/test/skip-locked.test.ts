import { expect, test } from "vitest";
import { freshDatabase } from "../../test/support/database.ts";
import { skipLocked, skipLockedRows } from "#src/adapters/skip-locked";
import { payloadDueAt } from "#src/load/messages";
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
  await admin.query(`
    create table skip_locked.log (transaction xid8);
    create function skip_locked.log() returns trigger language plpgsql as $$
    begin
      insert into skip_locked.log values (pg_current_xact_id());
      return null;
    end $$;
    create trigger log after update or delete on skip_locked.job execute function skip_locked.log()`);
  expect(await receive?.()).toBe(3);
  const { rows } = await admin.query("select count(distinct transaction)::int as transactions from skip_locked.log");
  expect(rows).toEqual([{ transactions }]);
  expect((await admin.query("select from skip_locked.job")).rowCount).toBe(0);
});
