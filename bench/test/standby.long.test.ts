import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { startPostgres } from "@pgque/postgres";
import { Client } from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ownServer } from "../../test/support/database.ts";
import { testSettings } from "../../test/support/server.ts";
import { until } from "../../test/support/until.ts";
import { heldFrom } from "#src/horizons/held";
import { lookAtSlot } from "#src/horizons/cluster";
import { standbyFeedback } from "#src/horizons/standby-feedback";
import { siteOn, vacuumedAway, type Site } from "./support/site.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), "pgque-test-standby-"));
  // the server runs as somebody else
  execFileSync("chmod", ["711", folder]);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("a real standby with feedback holds as the one of the benchmark does", async () => {
  const [data, copy] = [path.join(folder, "primary"), path.join(folder, "standby")];
  await (await startPostgres({ keepIn: data, settings: testSettings })).stop();
  copyAsStandby(data, copy);
  await using primary = await ownServer({ keepIn: data });
  const site = await siteOn(primary);
  const ours = await standbyFeedback.hold(site);
  const asOurs = await seen(site);
  await ours.release();

  await site.admin.query("select pg_create_physical_replication_slot('standby', true)");
  await using standby = await startPostgres({
    keepIn: copy,
    settings: {
      ...testSettings,
      primary_conninfo: primary.server.url,
      primary_slot_name: "standby",
      hot_standby_feedback: true,
      wal_receiver_status_interval: 1,
    },
  });
  const look = lookAtSlot(site.admin, "standby", "xmin");
  const query = await openQueryOn(standby.url);
  await site.useTransactions(30);
  await until(async () => (await look())?.xmin === query.xmin, "the standby has reported its query");
  const held = await heldFrom("the standby", look);
  await site.useTransactions(30);
  await site.makeDeadTuple();
  expect(await site.deadTuples()).toBe(1);
  expect(await held.prove()).toBeGreaterThanOrEqual(30);
  expect(await seen(site)).toEqual(asOurs);
  await query.client.end();
  await vacuumedAway(site);
});

/** A copy of a stopped server that will follow it, on a port of its own. */
function copyAsStandby(data: string, copy: string): void {
  execFileSync("cp", ["-a", data, copy]);
  execFileSync("cp", ["-a", path.join(copy, "data/PG_VERSION"), path.join(copy, "data/standby.signal")]);
  const { port: _taken, ...kept } = JSON.parse(readFileSync(path.join(copy, "server.json"), "utf8"));
  writeFileSync(path.join(copy, "server.json"), JSON.stringify(kept));
}

async function openQueryOn(url: string): Promise<{ client: Client; xmin: string }> {
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query("begin isolation level repeatable read");
  const { rows } = await client.query("select pg_snapshot_xmin(pg_current_snapshot())::text as xmin");
  return { client, xmin: rows[0].xmin };
}

/** Where a standby's hold is to be seen on its primary, whoever it is. */
async function seen({ admin }: Site): Promise<unknown> {
  const { rows } = await admin.query(`
    select s.slot_type, s.active, s.xmin is not null as has_xmin, s.catalog_xmin is not null as has_catalog_xmin,
           r.backend_xmin is not null as sender_has_xmin, r.sync_state
      from pg_replication_slots s
      join pg_stat_replication r on r.pid = s.active_pid`);
  return rows;
}
