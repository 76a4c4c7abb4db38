import type { Client } from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ownServer, type OwnServer } from "../../../test/support/database.ts";
import { holdByFeedback, holdBySlot } from "../../../test/support/standby.ts";
import { until } from "../../../test/support/until.ts";
import { doctor, illsOf, statementsOf, type Told } from "./support/doctor.ts";
import { pgque } from "./support/pgque.ts";
import { holdTransaction, repeatableRead, written } from "./support/holders.ts";

let server: OwnServer;
let admin: Client;
beforeAll(async () => {
  server = await ownServer();
  admin = await server.connect();
});
afterAll(() => server.drop());

const horizon = (...args: string[]): Promise<Told[]> => illsOf(server.url, "horizon", ...args);
const atOnce = ["--older-than", "0s"];

const nobodyHolds = async (): Promise<void> => {
  const { checks } = await doctor(server.url, ...atOnce);
  expect(checks.filter(({ check }) => check === "horizon")).toEqual([
    { check: "horizon", severity: "ok", found: "nobody holds it for long", why: null, fix: [] },
  ]);
};

describe("transactions", () => {
  test.each([
    ["with a snapshot", repeatableRead, "select 1"],
    ["with a transaction id", written, "select pg_current_xact_id()"],
  ])("one %s is named, with the statement that ends it", async (_, how, query) => {
    const holder = await holdTransaction(server, how);
    const [told, ...others] = await horizon(...atOnce);
    expect(others).toEqual([]);
    expect(told?.found).toMatch(
      new RegExp(
        `^process ${holder.pid} \\(postgres, holder\\), for \\d+s, \\d+ transactions? back \\(idle in transaction: `,
      ),
    );
    expect(told?.found).toContain(query === "select 1" ? "select pg_backend_pid()" : "pg_backend_pid()");
    expect(told?.why).toContain("every other table keeps those of the last");
    await admin.query(statementsOf(told as Told));
    await until(() => holder.isGone(), "the holder is gone");
    await nobodyHolds();
  });

  test("a young one is not worth a word, nor is one that holds locks alone, nor one of another database", async () => {
    const young = await holdTransaction(server, repeatableRead);
    expect(await horizon("--older-than", "1d")).toEqual([]);
    await young.client.query("rollback");
    const idle = await holdTransaction(server);
    await using other = await server.fresh();
    await holdTransaction(other, repeatableRead);
    await nobodyHolds();
    await idle.client.query("rollback");
  });

  test("of other roles' sessions it sees less, and says which right is missing", async () => {
    await admin.query("create role looker login password 'secret'; grant pgque_viewer to looker");
    const url = new URL(server.url);
    [url.username, url.password] = ["looker", "secret"];
    const holder = await holdTransaction(server, repeatableRead);
    const { checks } = await doctor(url.href, ...atOnce);
    const rights = checks.find(({ check }) => check === "rights") as Told;
    expect(rights).toMatchObject({ severity: "warning", fix: ["grant pg_read_all_stats to looker"] });
    await admin.query(statementsOf(rights));
    expect(await illsOf(url.href, "horizon", ...atOnce)).toMatchObject([
      { found: expect.stringContaining(`process ${holder.pid}`) },
    ]);
    await holder.client.query("rollback");
  });
});

test("a prepared transaction is named, with the statement that rolls it back", async () => {
  const { client } = await holdTransaction(server, written);
  await client.query("prepare transaction 'it''s forgotten'");
  const [told, ...others] = await horizon(...atOnce);
  expect(others).toEqual([]);
  expect(told?.found).toMatch(/^prepared transaction "it's forgotten", for \d+s, 1 transaction back \(of postgres\)$/);
  expect(told?.fix).toEqual(["rollback prepared 'it''s forgotten'"]);
  await admin.query(statementsOf(told as Told));
  await nobodyHolds();
});

describe("slots and standbys", () => {
  test("an idle logical slot holds back the catalog alone, which is said and is no warning", async () => {
    await admin.query("select pg_create_logical_replication_slot('changes', 'pgoutput')");
    const { checks } = await doctor(server.url, ...atOnce);
    expect(checks.filter(({ check }) => check === "horizon")).toEqual([
      {
        check: "horizon",
        severity: "ok",
        found: expect.stringMatching(
          /^replication slot "changes", .* \(logical; nobody reads it; holds back the system catalog alone: user tables are vacuumed; keeps .* of WAL\)$/,
        ),
        why: null,
        fix: [],
      },
    ]);
    await admin.query("select pg_drop_replication_slot('changes')");
  });

  test("a physical slot without an xmin holds nothing", async () => {
    await admin.query("select pg_create_physical_replication_slot('archive', true)");
    await nobodyHolds();
    await admin.query("select pg_drop_replication_slot('archive')");
  });

  test("a slot with a standby's feedback is well while the standby is there, and a warning once it is gone", async () => {
    const standby = await holdBySlot(server.url, admin);
    expect(await horizon()).toEqual([]);
    await standby.leave();
    const [told, ...others] = await horizon();
    expect(others).toEqual([]);
    expect(told).toMatchObject({ severity: "warning", fix: ["select pg_drop_replication_slot('standby')"] });
    expect(told?.found).toMatch(/^replication slot "standby", .*\(physical; nobody reads it; keeps .* of WAL\)$/);
    await admin.query(statementsOf(told as Told));
    await nobodyHolds();
  });

  test("a standby without a slot is no holder to worry about before it is far back", async () => {
    const standby = await holdByFeedback(server.url, admin);
    expect(await horizon(...atOnce)).toEqual([]);
    await standby.leave();
  });
});

test.each([14, 15, 16, 18] as const)(
  "PostgreSQL %d names the same holders, to doctor, guard and top",
  async (major) => {
    await using other = await ownServer({ major });
    const own = await other.connect();
    await own.query("select pg_create_logical_replication_slot('changes', 'pgoutput')");
    const prepared = await holdTransaction(other, written);
    await prepared.client.query("prepare transaction 'forgotten'");
    const holder = await holdTransaction(other, repeatableRead);
    const standby = await holdBySlot(other.url, own);
    await standby.leave();
    const { checks } = await doctor(other.url, ...atOnce);
    const found = checks.filter(({ check }) => check === "horizon").map((told) => told.found.split(",", 1)[0]);
    expect(found.toSorted((a = "", b = "") => a.localeCompare(b))).toEqual([
      'prepared transaction "forgotten"',
      `process ${holder.pid} (postgres`,
      'replication slot "changes"',
      'replication slot "standby"',
    ]);
    const env = { DATABASE_URL: other.url };
    const guarded = await pgque(
      ["guard", "--once", "--include-superusers", "--terminate", "--grace", "0s", ...atOnce],
      env,
    );
    expect(guarded).toMatchObject({ code: 0, out: expect.stringContaining("warn  terminated") });
    await until(() => holder.isGone(), "the holder is gone");
    // top leaves out what has held for less than a second
    await until(async () => {
      const { code, out } = await pgque(["top", "--once", "--json"], env);
      expect(code).toBe(0);
      return JSON.parse(out).holders.some(({ name }: { name: string }) => name === "standby");
    }, "top names the slot");
    await own.query("rollback prepared 'forgotten'");
  },
);
