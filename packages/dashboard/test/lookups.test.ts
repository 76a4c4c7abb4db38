import { defineQueue, Pgque } from "@pgque/client";
import { type AuditEntry, createDashboard } from "@pgque/dashboard";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { freshDatabase, ownServer, type TestDatabase } from "../../../test/support/database.ts";
import { act, actionPath, confirmed, hostile, operatorOf, post } from "./support.ts";

let database: TestDatabase;
let pgque: Pgque;
beforeEach(async () => {
  database = await freshDatabase();
  onTestFinished(() => database.drop());
  pgque = new Pgque(database.pool());
});

type Get = (path: string) => Promise<{ status: number; text: string }>;

function viewerOf(on: Pgque): Get {
  const answer = createDashboard(on, { authorize: () => true });
  return async (path) => {
    const response = await answer(new Request(`http://127.0.0.1${path}`));
    return { status: response.status, text: await response.text() };
  };
}

function messagePath(queue: string, id: string): string {
  return `/message?${new URLSearchParams({ queue, id }).toString()}`;
}

test("a message is shown for each consumer: its state, attempt, reason, headers and payload", async () => {
  await pgque.ensure(hostile);
  for (const consumer of ["default", hostile]) await pgque.subscribe(hostile, consumer);
  const { id } = await pgque.send(hostile, { note: hostile }, { headers: { tenant: hostile } });
  const batch = await pgque.receive(hostile, { max: 1 });
  await pgque.bury(batch.id ?? "", [id], `${hostile} and so on`);
  const get = viewerOf(pgque);
  const { status, text } = await get(messagePath(hostile, id));
  expect(status).toBe(200);
  expect(text).not.toMatch(/<img|\u202E|\r/);
  for (const seen of ["<td>dead</td>", "<td>waiting</td>", "and so on", "tenant", String.raw`\u202e`])
    expect(text).toContain(seen);
  const packed = new URLSearchParams({ fields: JSON.stringify({ queue: hostile }), id }).toString();
  expect((await get(`/message?${packed}`)).text).toBe(text);
  const found = JSON.parse((await get(`/api${messagePath(hostile, id).replace("?", ".json?")}`)).text) as unknown[];
  expect(found).toMatchObject(
    await pgque.messages.find(hostile, id).then((all) => all.map(({ state }) => ({ state }))),
  );
});

test("results, steps, progress and log lines of a message are shown, whatever is in them", async () => {
  await pgque.ensure(defineQueue("orders", { retentionMs: 60_000 }));
  await pgque.subscribe("orders");
  const { id } = await pgque.send("orders", 1, { resultTtlMs: 60_000 });
  const { runtime } = pgque;
  const batch = await pgque.receive("orders");
  await runtime.storeStep(batch.id ?? "", id, hostile, JSON.stringify({ charged: hostile }));
  await runtime.reportProgress("orders", "default", [
    { id, attempt: 1, kind: "progress", value: '{"done": 0.5}' },
    { id, attempt: 1, kind: "log", value: `charging ${hostile}` },
  ]);
  await pgque.ackWithResults(batch.id ?? "", [{ id, result: { receipt: hostile } }]);
  const { status, text } = await viewerOf(pgque)(messagePath("orders", id));
  expect(status).toBe(200);
  expect(text).not.toMatch(/<img|\u202E|\r/);
  for (const seen of ["What handlers of", "receipt", "charged", "0.5", "charging"]) expect(text).toContain(seen);
});

test("a message that is not there, and one of no queue, have pages that say so", async () => {
  await pgque.ensure("orders");
  const get = viewerOf(pgque);
  expect(await get(messagePath("orders", "4711"))).toEqual({
    status: 404,
    text: expect.stringContaining("There is none"),
  });
  for (const path of [messagePath("orders", "x"), messagePath("nowhere", "1"), "/message", "/message?id=1"])
    expect((await get(path)).status, path).toBe(404);
  expect((await get("/message?id=1&fields=[")).status).toBe(400);
});

test("a delayed message is delivered now, and a waiting one cancelled, where the queue allows it", async () => {
  await pgque.ensure(defineQueue("orders", { allowCancel: true }));
  await pgque.subscribe("orders", "default");
  const lines: AuditEntry[] = [];
  const get = operatorOf(pgque, lines);
  const { id } = await pgque.send("orders", 1, { delayMs: 3_600_000 });
  const page = await (await get(messagePath("orders", id))).text();
  expect(page).toContain("do=run-message");
  expect(page).toContain("do=cancel-message");
  expect(await act(get, { do: "run-message", queue: "orders", id })).toContain("Delivered 1 message.");
  expect((await get(actionPath({ do: "run-message", queue: "orders", id }))).status).toBe(400);
  expect(await act(get, { do: "cancel-message", queue: "orders", id })).toContain("cancelled");
  expect((await pgque.receive("orders")).messages).toEqual([]);
  expect(await (await get(messagePath("orders", id))).text()).not.toContain("do=cancel-message");
  expect(lines.map(({ fields, outcome }) => [fields["id"], outcome])).toEqual(
    ["begun", "done", "begun", "done"].map((outcome) => [id, outcome]),
  );
});

test("schedules are listed, run once by one confirmation, paused and resumed", async () => {
  const get = operatorOf(pgque, []);
  expect(await (await get("/schedules")).text()).toContain("There is none.");
  await pgque.ensure("orders");
  await pgque.subscribe("orders", "default");
  for (const name of ["nightly", hostile]) await pgque.schedules.set(name, "orders", "30 2 * * *", { note: hostile });
  const shown = await (await operatorOf(pgque, [])("/schedules")).text();
  expect(shown).toContain("30 2 * * *");
  expect(shown).not.toMatch(/<img|\u202E/);
  for (const schedule of ["nightly", hostile]) {
    const form = await confirmed(get, { do: "run-schedule", schedule });
    expect(await (await post(get, form)).text()).toContain("Sent message");
    expect(await (await post(get, form)).text()).toContain("nothing was sent");
    expect(await act(get, { do: "pause-schedule", schedule })).toContain("Paused");
    expect((await get(actionPath({ do: "run-schedule", schedule }))).status).toBe(400);
    expect((await pgque.schedules.list()).find(({ name }) => name === schedule)?.enabled).toBe(false);
    await act(get, { do: "resume-schedule", schedule });
    expect((await pgque.schedules.list()).find(({ name }) => name === schedule)?.enabled).toBe(true);
  }
  expect((await pgque.receive("orders")).messages).toHaveLength(2);
  expect((await get(actionPath({ do: "run-schedule", schedule: "nowhere" }))).status).toBe(400);
});

test("consumers of all queues are listed, the one that lags most first", async () => {
  expect((await viewerOf(pgque)("/consumers")).text).toContain("There is none.");
  for (const queue of ["quiet", hostile]) {
    await pgque.ensure(queue);
    await pgque.subscribe(queue, "default");
  }
  await pgque.send(hostile, 1);
  const { text } = await viewerOf(pgque)("/consumers");
  const [first, second] = [...text.matchAll(/href="queue\?name=([^"]*)"/g)].map(([, name = ""]) =>
    decodeURIComponent(name),
  );
  expect([first, second]).toEqual([hostile, "quiet"]);
  expect(text).toContain("No worker with a heartbeat is alive.");
});

test("the page of the horizon names who holds it, since when, and the statement that ends it", async () => {
  const holder = await database.connect();
  await holder.query("set application_name = '<img src=x>'");
  await holder.query("begin isolation level repeatable read");
  const { rows } = await holder.query<{ pid: number }>("select pg_backend_pid() as pid");
  const { status, text } = await viewerOf(pgque)("/horizon");
  expect(status).toBe(200);
  expect(text).toContain(`process ${rows[0]?.pid}`);
  expect(text).toContain(`select pg_terminate_backend(${rows[0]?.pid})`);
  expect(text).toContain("Nobody works in it");
  expect(text).toContain("idle in transaction");
  expect(text).not.toContain("<img");
  await holder.query("rollback");
  expect((await viewerOf(pgque)("/horizon")).text).toContain("Nobody holds it.");
});

const pages = [
  "/",
  "/queue?name=orders",
  "/dead-letters?queue=orders",
  "/message?queue=orders&id=1",
  "/schedules",
  "/consumers",
];

test.each([...pages, "/horizon"])(
  "a database that is down has a page that says so, without its password: %s",
  async (path) => {
    await using down = new Pgque("postgres://ada:s3cret@127.0.0.1:1/orders", { retryForMs: 0 });
    const { status, text } = await viewerOf(down)(path);
    expect(status).toBe(503);
    expect(text).toContain('class="failure"');
    expect(text).not.toContain("s3cret");
  },
);

test.each(pages)("a schema that is absent, and an older one, have a page that says so: %s", async (path) => {
  const absent = await viewerOf(new Pgque(database.pool(), { schema: "nowhere" }))(path);
  expect(absent.status).toBe(503);
  expect(absent.text).toContain("npx pgque install");
  const client = await database.connect();
  await client.query("create or replace function pgque.version() returns text language sql return '0.0.9'");
  const older = await viewerOf(new Pgque(database.pool()))(path);
  expect(older.status).toBe(503);
  expect(older.text).toContain("found version 0.0.9");
});

test("a role without rights is told so on each page, and one of an operator may do what the pages offer", async () => {
  const own = await ownServer();
  onTestFinished(() => own.drop());
  const admin = new Pgque(own.pool());
  for (const sql of [
    "create role stranger login password 'x'",
    "create role looker login password 'x' in role pgque_viewer",
    "create role doer login password 'x' in role pgque_admin, pgque_reader",
  ])
    await admin.pool.query(sql);
  await admin.ensure("orders");
  await admin.subscribe("orders", "default");
  await admin.schedules.set("nightly", "orders", "30 2 * * *", 1);
  const { id } = await admin.send("orders", 1, { delayMs: 3_600_000 });
  const as = (user: string): Pgque => {
    const target = new URL(own.url);
    Object.assign(target, { username: user, password: "x" });
    return new Pgque(target.href, { retryForMs: 0 });
  };
  await using stranger = as("stranger");
  for (const path of pages) {
    const { status, text } = await viewerOf(stranger)(path);
    expect(status, path).toBe(503);
    expect(text, path).toContain("permission denied");
  }
  await using looker = as("looker");
  for (const path of [
    ...pages.filter((one) => !one.startsWith("/message")),
    `/message?queue=orders&id=${id}`,
    "/horizon",
  ]) {
    const { status, text } = await viewerOf(looker)(path);
    expect(status, path).toBe(200);
    expect(text, path).not.toContain("cannot be read");
  }
  await using doer = as("doer");
  const lines: AuditEntry[] = [];
  const answer = createDashboard(looker, {
    authorize: () => true,
    operator: { pgque: doer, who: () => "ada", audit: (entry) => void lines.push(entry) },
  });
  const get = (path: string, init?: RequestInit) => answer(new Request(`http://127.0.0.1${path}`, init));
  const [queue, consumer, schedule] = ["orders", "default", "nightly"];
  const all: Record<string, string>[] = [
    { do: "run-message", queue, id },
    { do: "pause-queue", queue },
    { do: "resume-queue", queue },
    { do: "pause-consumer", queue, consumer },
    { do: "resume-consumer", queue, consumer },
    { do: "move-consumer", queue, consumer, to: "earliest" },
    { do: "redrive-dead-letters", queue, all: "true" },
    { do: "purge-dead-letters", queue, all: "true" },
    { do: "run-schedule", schedule },
    { do: "pause-schedule", schedule },
    { do: "resume-schedule", schedule },
  ];
  for (const fields of all) await act(get, fields);
  await act(get, { do: "purge-queue", queue }, { typed: queue });
  // and one whose connection may look only changes nothing
  const powerless = operatorOf(looker, lines);
  const refused = await post(powerless, await confirmed(powerless, { do: "pause-queue", queue }));
  expect(refused.status).toBe(503);
  expect(await refused.text()).toContain("permission denied");
  expect((await admin.queues.status(queue)).paused).toBe(false);
  expect(lines.at(-1)).toMatchObject({ outcome: "failed", text: expect.stringContaining("permission denied") });
});
