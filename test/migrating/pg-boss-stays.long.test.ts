import { expect, test } from "vitest";
import { until } from "../support/until.ts";
import { pgBoss } from "./pg-boss.ts";
import { move, shop, waiting } from "./shop.ts";

const ada = "ada@example.org";

test("an active job of pg-boss stays with its worker, and is moved by the next run when it has failed", async () => {
  await using database = await shop();
  await using boss = await pgBoss(database);
  await boss.send("mails", { to: ada, subject: "newsletter" });
  const [active] = await boss.fetch("mails");
  expect(await move("pg-boss/move.ts", database)).toEqual({ code: 0, output: "moved 0 and 0 schedules\n" });
  await boss.fail("mails", active?.id ?? "");
  expect(await move("pg-boss/move.ts", database)).toEqual({ code: 0, output: "moved 1 and 0 schedules\n" });
  expect(await waiting(database)).toMatchObject({ newsletter: { headers: { "pgque-max-retries": 3 } } });
});

test("jobs of a flow of pg-boss stay until nobody waits for them and they wait for nobody", async () => {
  await using database = await shop();
  await using boss = await pgBoss(database, { supervise: true, flowIntervalSeconds: 1 });
  const { first = "" } = await boss.flow([
    { ref: "first", name: "mails", data: { to: ada, subject: "first" } },
    { ref: "second", name: "mails", data: { to: ada, subject: "second" }, dependsOn: ["first"] },
  ]);
  expect(await move("pg-boss/move.ts", database)).toEqual({ code: 0, output: "moved 0 and 0 schedules\n" });

  const [job] = await boss.fetch("mails");
  expect(job?.id).toBe(first);
  await boss.complete("mails", first);
  const admin = await database.connect();
  const isFree = async () =>
    (await admin.query("select from pgboss.job where not blocked and state = 'created'")).rowCount === 1;
  await until(isFree, "pg-boss has let the second through");
  expect(await move("pg-boss/move.ts", database)).toEqual({ code: 0, output: "moved 1 and 0 schedules\n" });
  expect(Object.keys(await waiting(database))).toEqual(["second"]);
});

test("a schedule of pg-boss that is no cron leaves jobs and schedules where they are, and is named", async () => {
  await using database = await shop();
  await using boss = await pgBoss(database);
  await boss.send("mails", { to: ada, subject: "newsletter" });
  await boss.schedule("digests", "0 6 * * *", { kind: "daily" });
  await boss.schedule("digests", "FREQ=DAILY;BYHOUR=7", { kind: "daily" }, { key: "rule" });
  const { code, output } = await move("pg-boss/move.ts", database);
  expect({ code, output }).toEqual({ code: 1, output: expect.stringContaining("found an rrule of digests") });
  expect(await boss.getSchedules()).toHaveLength(2);
  expect(await waiting(database)).toEqual({});
});

test("jobs of a queue of pg-boss with a table of its own are moved too", async () => {
  await using database = await shop();
  await using boss = await pgBoss(database);
  await boss.deleteQueue("digests");
  await boss.createQueue("digests", { partition: true });
  await boss.send("digests", { kind: "extra" });
  expect(await move("pg-boss/move.ts", database)).toEqual({ code: 0, output: "moved 1 and 0 schedules\n" });
  expect(await waiting(database)).toHaveProperty("extra");
});
