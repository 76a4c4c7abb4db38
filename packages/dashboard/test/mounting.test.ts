import { Pgque } from "@pgque/client";
import { hashPassword } from "@pgque/dashboard";
import { freePort } from "@pgque/postgres";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { freshDatabase, type TestDatabase } from "../../../test/support/database.ts";
import { start } from "../../../test/support/example.ts";
import { until } from "../../../test/support/until.ts";
import { act, type Answer, confirmed, hostile, post } from "./support.ts";

const authorization = `Basic ${Buffer.from("ada:correct horse").toString("base64")}`;

describe.each(["express", "fastify", "hono", "node-http"])("mounted by %s", (framework) => {
  let database: TestDatabase;
  let pgque: Pgque;
  let origin: string;
  let application: ReturnType<typeof start>;
  beforeAll(async () => {
    database = await freshDatabase();
    pgque = new Pgque(database.pool());
    await pgque.ensure(hostile);
    await pgque.subscribe(hostile, "default");
    const port = await freePort();
    origin = `http://127.0.0.1:${port}`;
    const env = {
      OPERATOR_DATABASE_URL: database.url,
      PGQUE_DASHBOARD_PASSWORD_HASH: await hashPassword("correct horse"),
      DASHBOARD_TOKEN_SECRET: "s".repeat(32),
      PORT: String(port),
    };
    Object.assign(process.env, env);
    application = start(`dashboard/${framework}.ts`, database.url);
    for (const name of Object.keys(env)) delete process.env[name];
    await until(
      () =>
        fetch(origin).then(
          () => true,
          () => false,
        ),
      `${framework} listens`,
    );
  });
  afterAll(async () => {
    application.child.kill();
    await application.closed;
    await database.drop();
  });

  /** Below the mount, as one who has the password. */
  const get: Answer = (path, init) => {
    const headers = { authorization, ...Object.fromEntries(new Headers(init?.headers)) };
    return fetch(`${origin}/admin/queues${path}`, { redirect: "manual", ...init, headers });
  };

  test("the application's own pages are its own", async () => {
    expect(await (await fetch(origin)).text()).toBe("the application");
    expect(await (await fetch(`${origin}/admin/queuesx`)).text()).not.toContain("Pgque");
  });

  test("without the password nothing is shown", async () => {
    for (const path of ["", "/", "/style.css", "/api/overview.json"])
      expect((await get(path, { headers: { authorization: "" } })).status, path).toBe(401);
  });

  test("the mount leads to its folder, where all pages, files and JSON are, with the strict policy", async () => {
    const moved = await get("");
    expect(moved.status).toBe(308);
    expect(new URL(moved.headers.get("location") ?? "", `${origin}/admin/queues`).pathname).toBe("/admin/queues/");
    const queue = `/queue?${new URLSearchParams({ name: hostile }).toString()}`;
    for (const path of [
      "/",
      queue,
      "/consumers",
      "/schedules",
      "/horizon",
      "/style.css",
      "/live.js",
      "/api/overview.json",
    ]) {
      const response = await get(path);
      expect(response.status, path).toBe(200);
      expect(response.headers.get("content-security-policy"), path).toContain("default-src 'none'");
      const text = await response.text();
      for (const [, href = ""] of text.matchAll(/(?:href|src|action)="([^"]*)"/g)) expect(href).not.toMatch(/^[/]|:/);
    }
    expect(await (await get("/nowhere")).text()).toContain("There is no such page");
  });

  test("an action is done, with a line of the audit log, and refused from another origin", async () => {
    const fields = { do: "pause-queue", queue: hostile };
    const form = await confirmed(get, fields);
    expect((await post(get, form, { "sec-fetch-site": "cross-site" })).status).toBe(403);
    expect((await post(get, form, { origin: "http://evil.example" })).status).toBe(403);
    expect((await pgque.queues.status(hostile)).paused).toBe(false);
    expect((await post(get, form, { origin })).status).toBe(200);
    expect((await pgque.queues.status(hostile)).paused).toBe(true);
    await act(get, { ...fields, do: "resume-queue" });
    expect((await pgque.queues.status(hostile)).paused).toBe(false);
    const lines = application.output.text.split("\n").filter(Boolean);
    const entries = lines.map((line) => JSON.parse(line) as { who: string; outcome: string });
    expect(entries.map(({ who, outcome }) => `${who} ${outcome}`)).toEqual(
      ["refused", "refused", "begun", "done", "begun", "done"].map((outcome) => `ada ${outcome}`),
    );
  });

  test("who is no operator may look only", async () => {
    const viewer: Answer = (path, init) => {
      const other = `Basic ${Buffer.from("viewer:correct horse").toString("base64")}`;
      return get(path, {
        ...init,
        headers: { ...Object.fromEntries(new Headers(init?.headers)), authorization: other },
      });
    };
    expect((await viewer("/")).status).toBe(200);
    expect((await post(viewer, new URLSearchParams({ do: "pause-queue", queue: hostile }))).status).toBe(403);
  });

  test("a form that is too large is refused, and the server goes on", async () => {
    const form = new URLSearchParams({ do: "x".repeat(200_000) });
    expect((await post(get, form)).status).toBe(413);
    expect((await get("/")).status).toBe(200);
  });
});
