import { Pgque } from "@pgque/client";
import { type AuditEntry, createDashboard, type OperatorOptions } from "@pgque/dashboard";
import { sanitize } from "@pgque/client/redact";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { freshDatabase } from "../../../test/support/database.ts";
import { deadLetterActions } from "#src/actions/dead-letters";
import { act, type Answer, confirmed, hostile, operatorOf, post, unescaped } from "./support.ts";
import { Tokens } from "#src/actions/token";

let pgque: Pgque;
let lines: AuditEntry[];
beforeEach(async () => {
  const database = await freshDatabase();
  onTestFinished(() => database.drop());
  pgque = new Pgque(database.pool());
  lines = [];
  for (const queue of ["orders", hostile]) {
    await pgque.ensure(queue);
    await pgque.subscribe(queue, "default");
  }
});

function dashboard(options: Partial<OperatorOptions> = {}): Answer {
  return operatorOf(pgque, lines, options);
}

async function bury(queue: string, reasons: readonly string[]): Promise<void> {
  await pgque.sendMany(
    queue,
    reasons.map((_, id) => ({ id, note: hostile })),
  );
  const { id, messages } = await pgque.receive(queue, { max: 10_000 });
  const of = Map.groupBy(messages.keys(), (at) => reasons[at] ?? "");
  for (const [reason, those] of of)
    await pgque.bury(
      id ?? "",
      those.map((at) => messages[at]?.id ?? ""),
      reason,
    );
}

test.each(["orders", hostile])("a queue is paused and resumed, and both are in the audit log: %s", async (queue) => {
  const get = dashboard();
  await act(get, { do: "pause-queue", queue });
  expect((await pgque.queues.status(queue)).paused).toBe(true);
  await act(get, { do: "resume-queue", queue });
  expect((await pgque.queues.status(queue)).paused).toBe(false);
  expect(lines.map(({ who, action, fields, outcome }) => [who, action, fields["queue"], outcome])).toEqual(
    ["pause-queue", "resume-queue"].flatMap((action) =>
      ["begun", "done"].map((outcome) => ["ada", action, queue, outcome]),
    ),
  );
});

test("a queue is purged once its name was typed, and not before", async () => {
  await pgque.sendMany("orders", [1, 2, 3]);
  const get = dashboard();
  const form = await confirmed(get, { do: "purge-queue", queue: "orders" });
  for (const typed of [undefined, "", "order", "Orders"]) {
    if (typed !== undefined) form.set("typed", typed);
    const refused = await post(get, form);
    expect(refused.status).toBe(400);
    expect(await refused.text()).toContain("nothing was done");
  }
  expect((await pgque.consumers.list("orders"))[0]?.depth).toBe(3);
  expect(await act(get, { do: "purge-queue", queue: "orders" }, { typed: "orders" })).toContain(
    "Threw away 3 messages",
  );
  expect((await pgque.consumers.list("orders"))[0]?.depth).toBe(0);
  // no browser lets anybody type its line end
  await act(get, { do: "purge-queue", queue: hostile }, { typed: sanitize(hostile) });
});

test("a consumer is paused, resumed and moved", async () => {
  const get = dashboard();
  const fields = { queue: "orders", consumer: "default" };
  await pgque.sendMany("orders", [1, 2, 3]);
  await act(get, { do: "pause-consumer", ...fields });
  expect((await pgque.consumers.list("orders"))[0]?.paused).toBe(true);
  await act(get, { do: "resume-consumer", ...fields });
  expect((await pgque.consumers.list("orders"))[0]?.paused).toBe(false);
  const choice = await (
    await get(`/action?${new URLSearchParams({ do: "move-consumer", ...fields }).toString()}`)
  ).text();
  expect(choice).toContain("to=latest");
  await act(get, { do: "move-consumer", ...fields, to: "latest" });
  expect((await pgque.consumers.list("orders"))[0]?.depth).toBe(0);
  await act(get, { do: "move-consumer", ...fields, to: "2020-01-31T12:00" });
  expect((await pgque.consumers.list("orders"))[0]?.depth).toBe(3);
  for (const to of ["yesterday", "2026-99-99T00:00", "'; drop table x"]) {
    const query = new URLSearchParams({ do: "move-consumer", ...fields, to }).toString();
    expect((await get(`/action?${query}`)).status, to).toBe(400);
  }
});

test("dead letters are sent again and thrown away: by ids, by reason, and all", async () => {
  const get = dashboard();
  await bury("orders", [
    "timeout after 10 ms",
    "timeout after 20 ms",
    "100% <b>wrong",
    "100x <b>wrong",
    "gone",
    "gone",
  ]);
  const page = await (await get("/dead-letters?queue=orders")).text();
  const links = [...page.matchAll(/href="(action\?[^"]*)"/g)].map(([, href = ""]) => unescaped(href));
  const linkOf = (what: string, like: string): Record<string, string> => {
    const found = links.map((href) => Object.fromEntries(new URLSearchParams(href.slice(href.indexOf("?") + 1))));
    return found.find((one) => one["do"] === what && one["reason"]?.startsWith(like)) ?? {};
  };
  const left = async (): Promise<(string | null)[]> =>
    (await pgque.deadLetters.list("orders")).map(({ reason }) => reason).toReversed();
  expect(await act(get, linkOf("redrive-dead-letters", "timeout"))).toContain("Sent again 2 dead letters.");
  expect(await left()).toEqual(["100% <b>wrong", "100x <b>wrong", "gone", "gone"]);
  // the sign of a hundredth is no pattern
  expect(await act(get, { do: "purge-dead-letters", queue: "orders", reason: String.raw`100\% %` })).toContain(
    "1 dead",
  );
  expect(await left()).toEqual(["100x <b>wrong", "gone", "gone"]);
  const ids = (await pgque.deadLetters.list("orders")).slice(0, 2).map(({ id }) => id);
  const query = new URLSearchParams([
    ["do", "purge-dead-letters"],
    ["queue", "orders"],
    ...ids.map((id) => ["ids", id]),
  ]);
  expect(await (await get(`/action?${query.toString()}`)).text()).toContain("2 dead letters of queue");
  await act(get, { do: "purge-dead-letters", queue: "orders", ids: ids.join(",") });
  expect(await left()).toEqual(["100x <b>wrong"]);
  await act(get, { do: "purge-dead-letters", queue: "orders", all: "true" });
  expect(await left()).toEqual([]);
});

test("what dies after a confirmation was shown is not meant by it", async () => {
  const get = dashboard();
  await bury("orders", ["gone"]);
  const form = await confirmed(get, {
    do: "purge-dead-letters",
    queue: "orders",
    all: "true",
    before: "2999-01-01T00:00:00Z",
  });
  expect(form.get("fields")).not.toContain("2999");
  await bury("orders", ["later"]);
  expect((await post(get, form)).status).toBe(200);
  expect((await pgque.deadLetters.list("orders")).map(({ reason }) => reason)).toEqual(["later"]);
});

test("many dead letters are sent again in steps, and a request that takes long says that there are more", async () => {
  await bury(
    "orders",
    Array.from({ length: 2100 }, () => "gone"),
  );
  const fields = { queue: "orders", all: "true", before: "2999-01-01T00:00:00Z" };
  const redrive = deadLetterActions["redrive-dead-letters"] ?? expect.fail();
  expect(await redrive.run(pgque, fields, 0)).toEqual({
    text: "Sent again 1,000 dead letters. There are more.",
    isPartial: true,
  });
  expect(await redrive.run(pgque, fields, 60_000)).toEqual({ text: "Sent again 1,100 dead letters." });
});

test("a choice of dead letters that means none, or that means all without saying so, is refused", async () => {
  const get = dashboard();
  for (const scope of [
    {},
    { reason: "%" },
    { reason: "_%" },
    { all: "yes" },
    { ids: "1,x" },
    { ids: "1", all: "true" },
    { ids: "0" },
  ]) {
    const query = new URLSearchParams({ do: "purge-dead-letters", queue: "orders", ...scope });
    expect((await get(`/action?${query.toString()}`)).status, query.toString()).toBe(400);
  }
});

test("a form from another origin is refused, with a page that says so, and a line in the audit log", async () => {
  const get = dashboard();
  const form = await confirmed(get, { do: "pause-queue", queue: "orders" });
  const host = "127.0.0.1";
  const foreign: HeadersInit[] = [
    {},
    { "sec-fetch-site": "cross-site" },
    { "sec-fetch-site": "same-site" },
    { "sec-fetch-site": "none" },
    { "sec-fetch-site": "cross-site", origin: `http://${host}`, host },
    { origin: "http://evil.example", host },
    { origin: "null", host },
    { origin: `http://${host}.evil.example`, host },
  ];
  for (const headers of foreign) {
    const response = await post(get, form, headers);
    expect(response.status, JSON.stringify(headers)).toBe(403);
    expect(response.headers.get("content-security-policy")).toContain("default-src 'none'");
    expect(await response.text()).toContain("<h1>Refused</h1>");
  }
  expect((await pgque.queues.status("orders")).paused).toBe(false);
  expect(lines.map(({ outcome }) => outcome)).toEqual(foreign.map(() => "refused"));
  expect((await post(get, form, { origin: `http://${host}`, host })).status).toBe(200);
});

test("a token that is missing, wrong, another operator's, of another process, or of another action is refused", async () => {
  const get = dashboard();
  const form = await confirmed(get, { do: "pause-queue", queue: "orders" });
  const changed = (change: Record<string, string>): URLSearchParams =>
    new URLSearchParams({ ...Object.fromEntries(form), ...change });
  const other = await confirmed(get, { do: "pause-queue", queue: hostile });
  const tokens = [
    changed({ token: "" }),
    changed({ token: "x.y" }),
    changed({ token: other.get("token") ?? "" }),
    changed({ token: `z${form.get("token")}` }),
    changed({ do: "resume-queue" }),
    changed({ queue: hostile }),
    changed({ fields: JSON.stringify({ queue: hostile }) }),
  ];
  for (const one of tokens) expect((await post(get, one)).status, one.toString()).toBe(403);
  expect((await post(dashboard({ who: () => "eve" }), form)).status).toBe(403);
  expect((await post(dashboard(), form)).status).toBe(403);
  expect((await pgque.queues.status("orders")).paused).toBe(false);
  // processes that share a secret take each other's
  const tokenSecret = "x".repeat(32);
  const shared = await confirmed(dashboard({ tokenSecret }), { do: "pause-queue", queue: "orders" });
  expect((await post(dashboard({ tokenSecret }), shared)).status).toBe(200);
});

test("a token ends after a quarter of an hour", () => {
  const tokens = new Tokens(undefined);
  const token = tokens.issue(["a"], 0);
  expect(tokens.problem(token, ["a"], 899_999)).toBeUndefined();
  expect(tokens.problem(token, ["a"], 900_001)).toBe("one that is older than 15 min");
  expect(tokens.problem(token, ["a", ""], 0)).toBe("another one");
});

test("who may look only has no button, and is refused each action", async () => {
  const readers = [
    dashboard({ who: () => undefined }),
    (path: string, init?: RequestInit) =>
      createDashboard(pgque, { authorize: () => true })(new Request(`http://127.0.0.1${path}`, init)),
  ];
  await bury("orders", ["gone"]);
  const form = await confirmed(dashboard(), { do: "pause-queue", queue: "orders" });
  for (const get of readers) {
    for (const path of ["/queue?name=orders", "/dead-letters?queue=orders"])
      expect(await (await get(path)).text()).not.toMatch(/href="action|method="post"|action="action"/i);
    expect((await get("/action?do=pause-queue&queue=orders")).status).toBe(403);
    expect((await post(get, form)).status).toBe(403);
  }
  expect((await pgque.queues.status("orders")).paused).toBe(false);
});

test("an action that cannot be written to the audit log is not done, and one that fails is in it", async () => {
  const broken = dashboard({ audit: () => Promise.reject(new Error("the disk is full")) });
  const response = await post(broken, await confirmed(broken, { do: "pause-queue", queue: "orders" }));
  expect(response.status).toBe(503);
  expect((await pgque.queues.status("orders")).paused).toBe(false);
  const get = dashboard();
  const form = await confirmed(get, { do: "pause-queue", queue: "orders" });
  await pgque.queues.drop("orders", { force: true });
  expect((await post(get, form)).status).toBe(404);
  expect(lines.map(({ outcome }) => outcome)).toEqual(["begun", "failed"]);
});

test("what is no action, no form, or too large is refused", async () => {
  const get = dashboard();
  for (const path of [
    "/action",
    "/action?do=drop-queue&queue=orders",
    "/action?do=constructor",
    "/action?do=pause-queue",
    "/action?do=pause-queue&fields=[",
    "/action?do=pause-queue&fields=null",
  ])
    expect((await get(path)).status, path).toBe(400);
  expect((await get("/action?do=pause-queue&queue=nowhere")).status).toBe(404);
  const json = {
    method: "POST",
    body: "{}",
    headers: { "sec-fetch-site": "same-origin", "content-type": "application/json" },
  };
  expect((await get("/action", json)).status).toBe(415);
  expect((await post(get, new URLSearchParams({ do: "x".repeat(70_000) }))).status).toBe(413);
});

test("wrong options of the operator are refused without the secret", () => {
  expect(() => dashboard({ tokenSecret: "hunter2" })).toThrow(/tokenSecret` to be a text of at least 32 characters$/);
  expect(() => dashboard({ pgque: {} as Pgque })).toThrow("expected `operator.pgque` to be a Pgque");
  expect(() => dashboard({ who: "ada" as never })).toThrow("expected `operator.who`");
});
