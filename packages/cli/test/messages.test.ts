import { spawn } from "node:child_process";
import { once } from "node:events";
import { beforeEach, describe, expect, test } from "vitest";
import { until } from "../../../test/support/until.ts";
import { closedPort, Proxy } from "../../../test/support/proxy.ts";
import { freshCli, jsonLines } from "./support/cli.ts";
import { bin, environment, Running } from "./support/pgque.ts";

const { client, database, run, json, start } = await freshCli();
beforeEach(async () => {
  await client.queues.drop("q", { force: true });
  await client.ensure("q");
  await client.subscribe("q");
});

const depth = async () => (await client.consumers.list("q"))[0]?.depth;
const inFlight = async () => (await client.consumers.list("q"))[0]?.inFlight;

describe("receive", () => {
  test("prints messages and gives them back, at the same attempt", async () => {
    await client.send("q", { to: "Zoë ☾" }, { headers: { tenant: "acme" } });
    const { code, out, err } = await run("receive", "q");
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(out).toMatch(
      /^\d{4}-\d\d-\d\dT[\d:.]+Z {2}1 {2}default {2}\{"to":"Zoë ☾"\} {2}headers=\{"tenant":"acme"\}\n$/,
    );
    const [again] = jsonLines((await run("receive", "q", "--json")).out);
    expect(again).toMatchObject({
      id: "1",
      batchId: expect.any(String),
      attempt: 1,
      payload: { to: "Zoë ☾" },
      createdAt: expect.stringMatching(/Z$/),
    });
  });

  test("acks what it has printed, and no more than was asked for", async () => {
    await client.sendMany("q", [1, 2, 3]);
    const { out } = await run("receive", "q", "--ack", "--limit", "2", "--json");
    expect(jsonLines(out).map(({ payload }) => payload)).toEqual([1, 2]);
    expect([await depth(), await inFlight()]).toEqual([1, 0]);
    await run("receive", "q", "--ack");
    expect((await run("receive", "q", "--ack")).out).toBe("There is nothing to receive.\n");
    expect((await run("receive", "q", "--ack", "--json")).out).toBe("");
  });

  test("acks nothing when nobody reads what it prints", async () => {
    await client.sendMany(
      "q",
      Array.from({ length: 20 }, () => "x".repeat(100_000)),
    );
    const child = spawn(process.execPath, [bin, "receive", "q", "--ack", "--limit", "20"], {
      env: environment({ DATABASE_URL: database.url }),
      stdio: ["ignore", "pipe", "pipe"],
    });
    // as `head -c 1` does
    child.stdout.once("data", () => child.stdout.destroy());
    const [code] = (await once(child, "exit")) as [number];
    expect(code).toBe(1);
    expect([await depth(), await inFlight()]).toEqual([20, 0]);
  });

  test("a consumer that is not there is an error that says how to add it", async () => {
    const { code, out, err } = await run("receive", "q", "--consumer", "the other");
    expect({ code, out }).toEqual({ code: 1, out: "" });
    expect(err).toContain(
      "consumer not registered: the other. `pgque consumer list q` shows those that are there, `pgque consumer add q 'the other'` makes one",
    );
    expect((await run("receive", "q", "--limit", "0")).err).toContain(
      "expected --limit to be an integer from 1 to 100000, got: 0",
    );
  });
});

describe("peek", () => {
  test("of an empty queue says so, and is an empty array for programs", async () => {
    expect(await run("peek", "q")).toEqual({ code: 0, out: "There is no message.\n", err: "" });
    expect(await json("peek", "q")).toEqual([]);
  });

  test("shows messages page by page and receives none", async () => {
    await client.sendMany("q", [1, { long: "x".repeat(500) }, "\u001b[31mred"]);
    await client.send("q", "later", { delayMs: 3_600_000 });
    const { out } = await run("peek", "q", "--limit", "2");
    expect(out).toMatch(/^id +sent +attempt +type +payload\n 1 /);
    expect(out).toContain("…");
    const [, args = ""] = /^There may be more: pgque (peek q --limit 2 --after \S+)$/m.exec(out) ?? [];
    const next = await run(...args.split(" "));
    expect(next.out).toMatch(/^id +sent +due +attempt +type +payload\n/);
    expect(next.out).toContain(String.raw`\u001b[31mred`);
    expect(next.out).toContain('"later"');
    expect(await depth()).toBe(3);
    expect(await json("peek", "q", "--consumer", "default", "--limit", "1")).toMatchObject([
      { id: "1", dueAt: null, position: expect.any(String) },
    ]);
  });

  test("a position that is none is an error", async () => {
    expect(await run("peek", "q", "--after", "behind")).toMatchObject({
      code: 2,
      out: "",
      err: expect.stringContaining("expected --after to be a position"),
    });
  });
});

describe("tail", () => {
  test("prints the last messages and ends", async () => {
    await client.sendMany("q", [1, 2, 3]);
    expect(jsonLines((await run("tail", "q", "-n", "2", "--json")).out).map(({ payload }) => payload)).toEqual([2, 3]);
    expect((await run("tail", "q", "-n", "0")).out).toBe("");
    expect(await run("tail", "q", "-n", "1001")).toMatchObject({
      code: 2,
      err: expect.stringContaining("expected --lines to be from 0 to 1000, got: 1001"),
    });
  });

  test.each(["SIGINT", "SIGTERM"] as const)(
    "follows new messages without receiving them until %s, and then exits with 0",
    async (signal) => {
      await client.send("q", "old");
      const tail = start("tail", "-f", "-n", "1", "q", "--type", "default", "--json", "--interval", "10ms");
      await tail.says('"old"');
      await client.send("q", "new ☾");
      await client.send("q", "of no interest", { type: "other" });
      await tail.says('"new ☾"');
      // nobody keeps what is shown from whoever receives
      await (await client.receive("q")).ack();
      await client.send("q", "last");
      await tail.says('"last"');
      tail.kill(signal);
      const { code, out, err } = await tail.ended;
      expect({ code, err }).toEqual({ code: 0, err: "" });
      expect(jsonLines(out).map(({ payload }) => payload)).toEqual(["old", "new ☾", "last"]);
      expect(await depth()).toBe(1);
    },
  );

  test("shows what commits late, behind what came after it", async () => {
    const late = await database.connect();
    await late.query("begin");
    await late.query("select pgque.send('q', '\"late\"')");
    const tail = start("tail", "-f", "q", "--interval", "10ms");
    await client.send("q", "early");
    await tail.says('"early"');
    await late.query("commit");
    await tail.says('"late"');
  });

  test("goes on where it was when the database is back, and says so", async () => {
    await client.send("q", "before");
    const port = Number(new URL(database.url).port);
    await using proxy = await Proxy.start(port);
    const tail = new Running(["tail", "-f", "q", "--interval", "10ms"], { DATABASE_URL: proxy.through(database.url) });
    await tail.says('"before"');
    proxy.target = closedPort;
    proxy.cut();
    await until(() => tail.err.includes("; will try again\n"), "it says that the database is gone");
    await client.send("q", "meanwhile");
    proxy.target = port;
    await tail.says('"meanwhile"');
    tail.kill("SIGINT");
    const { code, err } = await tail.ended;
    expect(code).toBe(0);
    expect(err).toMatch(/^[^\n]*; will try again\nconnected again\n$/);
  });

  test("ends when nobody reads it any more", async () => {
    const tail = start("tail", "-f", "q", "--interval", "10ms");
    await client.send("q", "first");
    await tail.says('"first"');
    tail.child.stdout?.destroy();
    await until(async () => {
      await client.send("q", "more");
      return tail.child.exitCode !== null;
    }, "it has ended");
    expect(tail.child.exitCode).toBe(1);
    expect(tail.err).toBe("");
  });
});

test("receive shows what is not JSON as it is, and to look at it uses no attempt", async () => {
  await client.pool.query("select pgque.send('q', 'default', 'not json')");
  for (let look = 0; look < 2; look += 1)
    expect(jsonLines((await run("receive", "q", "--json")).out)).toMatchObject([{ payload: "not json", attempt: 1 }]);
  expect((await run("receive", "q", "--ack")).out).toContain("not json");
  expect((await run("receive", "q")).out).toBe("There is nothing to receive.\n");
  expect(await client.deadLetters.list("q")).toEqual([]);
});
