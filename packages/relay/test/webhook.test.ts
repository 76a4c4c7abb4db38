import { createHmac, randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { defineQueue, Pgque } from "@pgque/client";
import { relay, type RelayEvent, webhookSink, type WebhookSinkOptions } from "@pgque/relay";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { freshDatabase } from "../../../test/support/database.ts";
import { until } from "../../../test/support/until.ts";

interface Request {
  body: string;
  headers: IncomingHttpHeaders;
  path: string;
}

const key = randomBytes(32);
const secret = `whsec_${key.toString("base64")}`;
const database = await freshDatabase();
const pgque = new Pgque(database.pool());
let server: Server;
let url: string;
let requests: Request[];
/** The answer of the receiver: a status, or one with headers. */
let answer: (request: Request) => number | [number, Record<string, string>] | Promise<number>;

beforeAll(async () => {
  server = createServer((request, response) => {
    let body = "";
    request.setEncoding("utf8").on("data", (text: string) => (body += text));
    request.on("end", () => {
      const one = { body, headers: request.headers, path: request.url ?? "" };
      requests.push(one);
      void (async () => {
        const [status, headers = {}] = [await answer(one)].flat() as [number, Record<string, string>?];
        response.writeHead(status, headers).end("thanks");
      })();
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hooks?x=1`;
});
beforeEach(() => {
  requests = [];
  answer = () => 200;
});
afterAll(() => server.close());

let queues = 0;
async function freshQueue(payloads: readonly unknown[], keys?: string[]): Promise<string> {
  const queue = defineQueue(`w${(queues += 1)}`, { partitions: 4 });
  await pgque.ensure(queue);
  await pgque.subscribe(queue, "r", { mode: "exclusive" });
  await pgque.sendMany(queue, payloads, { keys: keys ?? payloads.map(() => "k") });
  return queue.name;
}

const local = { secret, allowPrivate: true };
const bodies = (): unknown[] => requests.map(({ body }) => JSON.parse(body) as unknown);

test("each message is a signed request, with an id that stays the same", async () => {
  const queue = await freshQueue([{ n: 1 }]);
  const sink = webhookSink({
    ...local,
    url,
    secret: [secret, `whsec_${randomBytes(24).toString("base64")}`],
    headers: { authorization: "Bearer b" },
  });
  let failures = 1;
  answer = () => ((failures -= 1) >= 0 ? 500 : 204);
  await using running = await relay(pgque, queue, sink, { name: "r" });
  await until(() => running.relayed === 1, "it is delivered");
  const [failed, { body, headers, path } = {} as Request] = requests;
  expect(path).toBe("/hooks?x=1");
  expect(failed?.headers["webhook-id"]).toBe(headers["webhook-id"]);
  expect(headers).toMatchObject({
    authorization: "Bearer b",
    "content-type": "application/json",
    "user-agent": "pgque-relay",
  });
  const signed = `${String(headers["webhook-id"])}.${String(headers["webhook-timestamp"])}.${body}`;
  const [first, second] = String(headers["webhook-signature"]).split(" ");
  expect(first).toBe(`v1,${createHmac("sha256", key).update(signed).digest("base64")}`);
  expect(second).toMatch(/^v1,/);
  expect(Math.abs(Number(headers["webhook-timestamp"]) - Date.now() / 1000)).toBeLessThan(60);
});

test("messages of a key come one after the other, of different keys at once, and after a failure none twice that was answered", async () => {
  const queue = await freshQueue(["a1", "b1", "a2", "b2", "a3"], ["a", "b", "a", "b", "a"]);
  let down = true;
  answer = async ({ body }) => {
    if (body === '"a1"')
      await until(() => requests.some((request) => request.body.startsWith('"b')), "the other key comes as well");
    return body === '"a2"' && down ? 503 : 200;
  };
  const events: RelayEvent[] = [];
  const onEvent = (event: RelayEvent): void => {
    events.push(event);
    down = false;
  };
  await using running = await relay(pgque, queue, webhookSink({ ...local, url }), { name: "r", onEvent });
  await until(() => running.relayed === 5, "all are delivered");
  const of = (name: string): unknown[] => bodies().filter((body) => String(body).startsWith(name));
  expect([of("a"), of("b")]).toEqual([
    ["a1", "a2", "a2", "a3"],
    ["b1", "b2"],
  ]);
  expect(events).toMatchObject([
    { kind: "outage", error: new Error("the receiver answered 503") },
    { kind: "recovered" },
  ]);
});

test("what a receiver will never take is refused, and what it may take later is an outage", async () => {
  const queue = await freshQueue([400, 401, 404, 410, 413, 415, 422, 429, 301]);
  const tried = new Set<string>();
  answer = ({ body }) => {
    if (tried.has(body)) return 200;
    tried.add(body);
    return [Number(body), { location: "/elsewhere" }];
  };
  await using running = await relay(pgque, queue, webhookSink({ ...local, url }), { name: "r", retryMaxMs: 100 });
  await until(() => running.relayed === 5, "those are delivered");
  await until(async () => (await pgque.deadLetters.list(queue)).length === 4, "these are parked");
  const dead = await pgque.deadLetters.list(queue);
  expect(new Set(dead.map(({ reason }) => reason))).toEqual(
    new Set([400, 413, 415, 422].map((status) => `the receiver answered ${status}`)),
  );
  expect(
    requests.every(({ path }) => path === "/hooks?x=1"),
    "no redirect is followed",
  ).toBe(true);
});

test("a receiver that asks to wait is not asked before", async () => {
  const queue = await freshQueue(["x"]);
  const times: number[] = [];
  answer = () => {
    times.push(performance.now());
    return times.length === 1 ? [429, { "retry-after": "1" }] : 200;
  };
  await using running = await relay(pgque, queue, webhookSink({ ...local, url }), { name: "r", retryMaxMs: 100 });
  await until(() => running.relayed === 1, "it is delivered");
  expect((times[1] ?? 0) - (times[0] ?? 0)).toBeGreaterThan(950);
});

test("one that does not answer is an outage, and a stop does not wait for it", async () => {
  const queue = await freshQueue(["x"]);
  answer = () => new Promise(() => undefined);
  const events: RelayEvent[] = [];
  const running = await relay(pgque, queue, webhookSink({ ...local, url, timeoutMs: 50 }), {
    name: "r",
    onEvent: (event) => void events.push(event),
  });
  await until(() => events.length > 0, "an outage is told");
  expect(events[0]).toMatchObject({ kind: "outage", error: new Error("the receiver did not answer within 50 ms") });
  await running.stop({ graceMs: 0 });
  server.closeAllConnections();
});

test.for([
  "127.0.0.1",
  "localhost",
  "[::1]",
  "10.0.0.1",
  "169.254.169.254",
  "[::ffff:10.0.0.1]",
  "[64:ff9b::7f00:1]",
  "[2002:a00:1::]",
  "0x7f.1",
  "[fd00::1]",
])("a private address is not called: %s", async (host) => {
  const queue = await freshQueue(["x"]);
  const events: RelayEvent[] = [];
  const run = async (): Promise<void> => {
    const sink = webhookSink({ url: `https://${host}/`, secret });
    await using running = await relay(pgque, queue, sink, { name: "r", onEvent: (event) => void events.push(event) });
    await until(() => events.length > 0, "an outage is told");
    await running.stop({ graceMs: 0 });
    throw (events[0] as { error: Error }).error;
  };
  await expect(run()).rejects.toThrow(/public address/);
  expect(requests).toEqual([]);
});

test("wrong options are refused, and secrets are not quoted", () => {
  const wrong = (options: Record<string, unknown>): string => {
    try {
      webhookSink({ url, secret, ...(options as Partial<WebhookSinkOptions>) });
    } catch (error) {
      return String(error);
    }
    return "";
  };
  expect(wrong({ url: "ftp://x/" })).toBe("TypeError: webhookSink: expected `url` to be an https URL");
  expect(wrong({})).toContain("expected `url` to be an https URL, or `allowPrivate: true`");
  expect(wrong({ url: "https://ada:s3cret@example.com/" })).toMatch(/without user and password(?!.*s3cret)/);
  for (const bad of [undefined, "s3cret", "whsec_c2hvcnQ="])
    expect(wrong({ url: "https://example.com/", secret: bad })).toMatch(/expected `secret` to be whsec_(?!.*s3cret)/);
});
