import { request } from "node:http";
import { Pgque } from "@pgque/client";
import { basicAuth, hashPassword, serveDashboard } from "@pgque/dashboard";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { ownServer, freshDatabase } from "../../../test/support/database.ts";

let pgque: Pgque;
beforeEach(async () => {
  const database = await freshDatabase();
  onTestFinished(() => database.drop());
  pgque = new Pgque(database.pool());
});

/** The status that a request gets which names another host than it is sent to. */
function statusFor(url: string, host: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    request(url, { headers: { host } }, (response) => {
      response.resume();
      resolve(response.statusCode);
    })
      .on("error", reject)
      .end();
  });
}

test("on the loopback it needs no password, and refuses a page of another site whose name points here", async () => {
  const { url, close } = await serveDashboard(pgque, { port: 0 });
  onTestFinished(close);
  expect((await fetch(url)).status).toBe(200);
  expect(await statusFor(url, "localhost:7420")).toBe(200);
  expect(await statusFor(url, "evil.example")).toBe(403);
});

test("beyond the loopback it does not start without a password, nor with one that is not hashed", async () => {
  for (const host of ["0.0.0.0", "::", "192.0.2.1"]) {
    await expect(serveDashboard(pgque, { host, port: 0 })).rejects.toThrow("expected a password for a dashboard");
  }
  const wrong = serveDashboard(pgque, { host: "0.0.0.0", port: 0, passwordHash: "hunter2hunter2" });
  await expect(wrong).rejects.toThrow("expected the password's hash to be of the form");
  await expect(wrong).rejects.not.toThrow("hunter2");
});

test("with a password it lets in who has it, again and again, and nobody else", async () => {
  const passwordHash = await hashPassword("correct: hörse");
  const { url, close } = await serveDashboard(pgque, { host: "0.0.0.0", port: 0, passwordHash });
  onTestFinished(close);
  const get = async (authorization?: string) =>
    (await fetch(url, authorization === undefined ? {} : { headers: { authorization } })).status;
  const basic = (text: string): string => `Basic ${Buffer.from(text).toString("base64")}`;
  const anonymous = await fetch(url);
  expect(anonymous.status).toBe(401);
  expect(anonymous.headers.get("www-authenticate")).toContain("Basic realm");
  expect(await Promise.all(["x:wrong", "correct: hörse", ":", "x:"].map((text) => get(basic(text))))).toEqual([
    401, 401, 401, 401,
  ]);
  expect(await get("Bearer x")).toBe(401);
  for (let time = 0; time < 3; time++) expect(await get(basic("ada:correct: hörse"))).toBe(200);
  expect(await get(basic("ada:correct: hors"))).toBe(401);
});

test("a hash of another form, or none, is refused without being shown", () => {
  for (const hash of [undefined, "", "secret", "scrypt$1$8$1$AAAAAAAAAAAAAAAAAAAAAA$AA"]) {
    expect(() => basicAuth(hash)).toThrow("got one of another form");
  }
});

test("a viewer sees every part, and a role without rights sees why it sees none", async () => {
  const own = await ownServer();
  onTestFinished(() => own.drop());
  const admin = await own.connect();
  await admin.query(
    `create role looker login password 'x' in role pgque_viewer; create role nobody_here login password 'x'`,
  );
  await admin.query(`select pgque.create_queue('orders'); select pgque.subscribe('orders', 'default')`);
  const pageOf = async (user: string) => {
    const target = new URL(own.url);
    target.username = user;
    target.password = "x";
    await using viewer = new Pgque(target.href, { retryForMs: 0 });
    const { url, close } = await serveDashboard(viewer, { port: 0 });
    const [overview, queue] = await Promise.all([fetch(url), fetch(`${url}queue?name=orders`)]);
    const texts = [await overview.text(), await queue.text()];
    await close();
    return { statuses: [overview.status, queue.status], text: texts.join("\n") };
  };
  const seen = await pageOf("looker");
  expect(seen.statuses).toEqual([200, 200]);
  expect(seen.text).not.toContain("cannot be read");
  const refused = await pageOf("nobody_here");
  expect(refused.statuses).toEqual([503, 503]);
  expect(refused.text).toContain("permission denied");
});
