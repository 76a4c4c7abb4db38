import { afterAll, beforeAll, expect, test } from "vitest";
import { ownServer, type OwnServer } from "../../test/support/database.ts";
import { backendPid } from "../../test/support/interleave.ts";
import { none } from "#src/horizons/none";
import { repeatableRead } from "#src/horizons/repeatable-read";
import type { HorizonContext } from "#src/horizons/horizon";

let server: OwnServer;
beforeAll(async () => {
  server = await ownServer();
});
afterAll(() => server.drop());

async function context(): Promise<HorizonContext & { useTransactions(count: number): Promise<void> }> {
  const admin = await server.connect();
  return {
    admin,
    connect: () => server.connect(),
    async useTransactions(count) {
      for (let n = 0; n < count; n++) await admin.query("select pg_current_xact_id()");
    },
  };
}

test("a repeatable-read holder proves the age of its xmin, and that it is gone once released", async () => {
  const cell = await context();
  const holder = await repeatableRead.hold(cell);
  await cell.useTransactions(30);
  expect(await holder.prove()).toBeGreaterThanOrEqual(30);
  await holder.release();
  await expect(holder.prove()).rejects.toThrow(/moved from xmin \d+ to none/);
});

test("a holder whose session was ended does not pass for one", async () => {
  const cell = await context();
  const holding = await server.connect();
  const holder = await repeatableRead.hold({ ...cell, connect: async () => holding });
  const pid = await backendPid(holding);
  await cell.admin.query("select pg_terminate_backend($1, 5000)", [pid]);
  await expect(holder.prove()).rejects.toThrow("is gone");
});

test("a holder that took a new snapshot in between does not pass for one", async () => {
  const cell = await context();
  const holding = await server.connect();
  const holder = await repeatableRead.hold({ ...cell, connect: async () => holding });
  await cell.useTransactions(2);
  await holding.query("rollback");
  await holding.query("begin isolation level repeatable read");
  await holding.query("select 1");
  await expect(holder.prove()).rejects.toThrow("moved from xmin");
  await holding.query("rollback");
});

test("none does not pass for none while somebody holds", async () => {
  const cell = await context();
  const clean = await none.hold(cell);
  await cell.useTransactions(150);
  expect(await clean.prove()).toBe(0);
  const forgotten = await server.connect();
  await forgotten.query("begin isolation level repeatable read");
  await forgotten.query("select 1");
  const held = await none.hold(cell);
  await cell.useTransactions(150);
  await expect(held.prove()).rejects.toThrow(/held by session \d+.* transactions back/);
  await forgotten.query("rollback");
});
