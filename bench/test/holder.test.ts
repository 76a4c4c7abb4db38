import { afterAll, beforeAll, expect, test } from "vitest";
import { ownServer, type OwnServer } from "../../test/support/database.ts";
import { none } from "#src/horizons/none";
import { repeatableRead } from "#src/horizons/repeatable-read";
import { siteOn } from "./support/site.ts";

let server: OwnServer;
beforeAll(async () => {
  server = await ownServer();
});
afterAll(() => server.drop());

test("a holder that took a new snapshot in between does not pass for one", async () => {
  const trial = await siteOn(server);
  const holding = await server.connect();
  const holder = await repeatableRead.hold({ ...trial, connect: async () => holding });
  await trial.useTransactions(2);
  await holding.query("rollback");
  await holding.query("begin isolation level repeatable read");
  await holding.query("select 1");
  await expect(holder.prove()).rejects.toThrow("moved from xmin");
  await holding.query("rollback");
});

test("a holder that began anew does not pass for one, though somebody older kept its xmin where it was", async () => {
  const trial = await siteOn(server);
  const older = await server.connect();
  await older.query("begin");
  await older.query("select pg_current_xact_id()");
  const holding = await server.connect();
  const holder = await repeatableRead.hold({ ...trial, connect: async () => holding });
  await trial.useTransactions(2);
  await holding.query("rollback");
  await holding.query("begin isolation level repeatable read");
  await holding.query("select 1");
  await expect(holder.prove()).rejects.toThrow("let go and began anew");
  await holding.query("rollback");
  await older.query("rollback");
});

test("none does not pass for none while somebody holds", async () => {
  const trial = await siteOn(server);
  const clean = await none.hold(trial);
  await trial.useTransactions(150);
  expect(await clean.prove()).toEqual({ xminAge: 0 });
  const forgotten = await server.connect();
  await forgotten.query("begin isolation level repeatable read");
  await forgotten.query("select 1");
  const held = await none.hold(trial);
  await trial.useTransactions(150);
  await expect(held.prove()).rejects.toThrow(/held by session \d+.* transactions back/);
  await forgotten.query("rollback");
});
