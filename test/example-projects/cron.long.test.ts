import { readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { freshDatabase } from "../support/database.ts";
import { until } from "../support/until.ts";
import { asRole, freePort, isWaiting, packed, quoted, run, start, statusOf } from "./project.ts";

const installed = packed();

test.each(["owner", "keeper"])(
  "the example of a crontab runs its task at its times as %s, and SIGTERM drains it",
  async (role) => {
    const project = installed("cron");
    await using database = await freshDatabase();
    const [admin, holder] = [await database.connect(), await database.connect()];
    await admin.query(readFileSync(path.join(project, "schema.sql"), "utf8"));
    await admin.query("insert into public.sessions (last_seen_at) values (now()), (now() - interval '31 minutes')");
    const deploy = quoted(project, "sh", "queue create");
    if (role !== "owner") run(project, "sh", ["-euc", deploy], { ...process.env, DATABASE_URL: database.url });
    const url = role === "owner" ? database.url : await asRole(project, database, role);
    const port = await freePort();
    const command = ["node_modules/pgque/bin/pgque.js", "worker", "tasks/", "--crontab", "crontab"];
    const { child, output, closed } = start(project, [...command, "--metrics-port", String(port)], {
      DATABASE_URL: url,
    });
    const count = async () => Number((await admin.query("select count(*) from public.sessions")).rows[0].count);
    await until(async () => child.exitCode !== null || (await count()) === 1, "the old session is gone", 60_000);
    expect(child.exitCode, output()).toBe(null);
    const probe = (name: string) => statusOf(`http://127.0.0.1:${port}/${name}`);
    expect([await probe("healthz"), await probe("readyz")]).toEqual([200, 200]);

    await holder.query("begin");
    await holder.query("lock table public.sessions in share mode");
    await until(() => isWaiting(admin), "a handler waits");
    child.kill("SIGTERM");
    await until(() => output().includes("stopping"), "it stops");
    expect(child.exitCode).toBe(null);
    await holder.query("commit");
    expect(await closed, output()).toEqual([0, null]);
    expect(await count()).toBe(1);
  },
);
