import { Pgque } from "@pgque/client";
import { createDashboard, type DashboardOptions, type Overview } from "@pgque/dashboard";
import { afterAll, beforeEach, expect, test } from "vitest";
import { freshDatabase, type TestDatabase } from "../../../test/support/database.ts";

let database: TestDatabase;
let pgque: Pgque;
beforeEach(async () => {
  database = await freshDatabase();
  afterAll(() => database.drop());
  pgque = new Pgque(database.pool());
});

const everybody = { authorize: () => true };

function dashboard(options: Partial<DashboardOptions> = {}, on = pgque): (path: string) => Promise<Response> {
  const answer = createDashboard(on, { ...everybody, ...options });
  return (path) => answer(new Request(`http://127.0.0.1${path}`));
}

async function textOf(response: Promise<Response>): Promise<string> {
  return (await response).text();
}

test("without a queue the first page says so, and how one is made", async () => {
  const page = await textOf(dashboard()("/"));
  expect(page).toContain("There is no queue yet.");
  expect(page).toContain("pgque queue create orders");
});

test("a queue that works is listed with what waits in it, and a verdict says that all is well", async () => {
  await pgque.ensure("orders");
  await pgque.subscribe("orders", "default");
  await pgque.sendMany("orders", [1, 2, 3]);
  const page = await textOf(dashboard()("/"));
  expect(page).toContain("1 queue: nothing waits");
  expect(page).toMatch(/href="queue\?name=orders"><bdi>orders<\/bdi><\/a>\s*<\/td><td class="number">3</);
});

const hostile = [
  `<script>alert(1)</script>`,
  `"><img src=x onerror=alert(1)>`,
  "a\u202Egpj.exe",
  "b&amp;'c",
  "../../x?y#z%2F",
];

test("hostile names of queues are shown as they are spelled, and their links lead to them", async () => {
  for (const name of hostile) await pgque.ensure(name);
  const get = dashboard({ basePath: "/a/b" });
  const page = await textOf(get("/a/b/"));
  expect(page).not.toMatch(/<script>|<img|\u202E/);
  expect(page).toContain(String.raw`a\u202egpj.exe`);
  const links = [...page.matchAll(/<td[^>]*><a href="(queue\?name=[^"]*)"/g)].map(([, link = ""]) => link);
  expect(links).toHaveLength(hostile.length);
  const names = await Promise.all(
    links.map(async (link) => {
      const { pathname, search } = new URL(
        link.replaceAll("&amp;", "&").replaceAll("&#39;", "'"),
        "http://127.0.0.1/a/b/",
      );
      expect(pathname).toBe("/a/b/queue");
      const response = await get(pathname + search);
      expect(response.status).toBe(200);
      const { queue } = (await (await get(`/a/b/api/queue.json${search}`)).json()) as { queue: { name: string } };
      expect(await response.text()).not.toMatch(/<script>|<img|\u202E/);
      return queue.name;
    }),
  );
  expect(names.toSorted()).toEqual(hostile.toSorted());
});

test("hostile text of a failing database is escaped on the page", async () => {
  const failing = new Pgque(database.pool(), { schema: "<img src=x>" });
  const response = await dashboard({}, failing)("/");
  expect(response.status).toBe(503);
  const page = await response.text();
  expect(page).not.toContain("<img");
  expect(page).toContain("Failure");
});

test("a database that is down, and a queue that is not there, have pages that say so, without the password", async () => {
  await using down = new Pgque("postgres://ada:s3cret@127.0.0.1:1/orders", { retryForMs: 0 });
  const get = dashboard({}, down);
  const page = await get("/");
  expect(page.status).toBe(503);
  const text = await page.text();
  expect(text).toContain("The queues cannot be read");
  expect(text).not.toContain("s3cret");
  expect((await get("/queue?name=orders")).status).toBe(503);
  const missing = await dashboard()("/queue?name=nowhere");
  expect({ status: missing.status, text: await missing.text() }).toEqual({
    status: 404,
    text: expect.stringContaining("There is no such queue"),
  });
  for (const path of ["/queue", "/queue?name=", "/queue?name=%00", "/nowhere", "/api/queue.json?name=x"]) {
    expect((await dashboard()(path)).status, path).toBe(404);
  }
});

test("dead letters are grouped by reasons that differ in numbers alone, and shown with hostile payloads escaped, page by page", async () => {
  await pgque.ensure("orders");
  await pgque.subscribe("orders", "default");
  await pgque.sendMany(
    "orders",
    Array.from({ length: 105 }, (_, id) => ({ id, note: hostile })),
  );
  for (let at = 0; at < 105;) {
    const { id, messages } = await pgque.receive("orders", { max: 105 });
    for (const message of messages) {
      const reason = `${++at % 3 === 0 ? "<script>refused" : "timeout after"} ${at} ms\nat line ${at}`;
      await pgque.bury(id ?? "", [message.id], reason);
    }
    await pgque.ack(id ?? "");
  }
  const get = dashboard();
  const first = await textOf(get("/dead-letters?queue=orders"));
  expect(first).not.toMatch(/<script>|<img|\u202E/);
  expect(first).toContain("timeout after … ms");
  expect(first.match(/<details>/g)).toHaveLength(100);
  const [, link = ""] = /href="(dead-letters[^"]*before[^"]*)"/.exec(first) ?? [];
  const second = await textOf(get(`/${link.replaceAll("&amp;", "&")}`));
  expect(second.match(/<details>/g)).toHaveLength(5);
  expect((await get("/dead-letters?queue=orders&before=x")).status).toBe(404);
  expect((await get("/dead-letters?queue=nowhere")).status).toBe(404);
});

test("nobody whom `authorize` refuses sees anything, its error included", async () => {
  const paths = ["", "/", "/queue?name=x", "/api/overview.json", "/style.css", "/nowhere"];
  for (const path of paths) {
    expect((await dashboard({ authorize: () => false })(path)).status, path).toBe(403);
    const login = new Response(null, { status: 302, headers: { location: "/login" } });
    expect((await dashboard({ authorize: async () => login.clone() })(path)).status, path).toBe(302);
  }
  const broken = dashboard({
    authorize: () => {
      throw new Error("no session");
    },
  });
  expect((await broken("/")).status).toBe(503);
});

test("every answer has the strict policy, and the mount without its slash leads to the one with it", async () => {
  const get = dashboard({ basePath: "/a/b" });
  for (const path of ["/a/b/", "/a/b/style.css", "/a/b/live.js", "/a/b/nowhere", "/a/b/api/overview.json"]) {
    const { headers } = await get(path);
    expect(headers.get("content-security-policy"), path).toContain("default-src 'none'; script-src 'self'");
    expect(headers.get("cache-control")).toBe("no-store");
  }
  const moved = await get("/a/b");
  expect(new URL(moved.headers.get("location") ?? "", "http://127.0.0.1/a/b").pathname).toBe("/a/b/");
});

test("twenty readers at once share one reading, and a later one is read anew", async () => {
  await pgque.ensure("orders");
  const get = dashboard({ refreshMs: 1000 });
  const read = async (): Promise<Overview> => (await (await get("/api/overview.json")).json()) as Overview;
  const readings = await Promise.all(Array.from({ length: 20 }, read));
  const [first] = readings;
  expect(new Set(readings.map(({ at }) => at)).size).toBe(1);
  await expect.poll(async () => (await read()).at, { timeout: 65_000, interval: 250 }).not.toBe(first?.at);
});

test("wrong options are refused, and named", () => {
  const make = (options: object) => () => createDashboard(pgque, { ...everybody, ...options });
  expect(make({ authorize: undefined })).toThrow("expected `authorize` to be a function, got: undefined");
  expect(make({ basePath: "a/" })).toThrow('expected `basePath` to be a path like "/a/b"');
  expect(make({ basePath: "//evil.example" })).toThrow("expected `basePath`");
  expect(make({ refreshMs: 10 })).toThrow("expected `refreshMs` to be an integer from 1000 to 60000, got: 10");
});
