import { expect, test } from "vitest";
import { defineQueue } from "@pgque/client";
import { freshCli } from "./support/cli.ts";

const { client, run, json } = await freshCli();
await client.ensure(defineQueue("reminders", { allowCancel: true, priorities: 3 }));
await client.subscribe("reminders", "mail");

test("a message is shown with where it is for each consumer", async () => {
  const { id } = await client.send("reminders", { order: 42 }, { priority: 2, headers: { tenant: "a" } });
  const { code, out } = await run("message", "show", "reminders", id);
  expect({ code, out }).toEqual({
    code: 0,
    out: expect.stringMatching(
      new RegExp(
        `message +${id}\\n[^]*priority +2\\n[^]*headers +{"tenant":"a"}\\n[^]*\\nmail +waiting +1[^]*{\\n  "order": 42\\n}\\n$`,
      ),
    ),
  });
  expect(await json("message", "show", "reminders", id)).toMatchObject([{ id, consumer: "mail", state: "waiting" }]);
  const none = await run("message", "show", "reminders", "999");
  expect(none).toMatchObject({ code: 1, out: "" });
  expect(none.err).toContain('expected a message 999 in queue "reminders", found none');
});

test("a message is shown with what its handler has stored and reported", async () => {
  await client.consumers.purge("reminders", "mail");
  const { id } = await client.send("reminders", { order: 43 });
  const batch = await client.receive("reminders", { consumer: "mail", leaseMs: 1000 });
  await client.runtime.storeStep(batch.id ?? "", id, "charge", '{"receipt": "r-1"}');
  const report = { id, attempt: 1, kind: "progress" as const, value: "0.5" };
  await client.runtime.reportProgress("reminders", "mail", [
    report,
    { ...report, kind: "log", value: "half\u001b[2Jway" },
  ]);
  const { out } = await run("message", "show", "reminders", id);
  expect(out).toMatch(/\nmail +1 +\S+ +progress +0.5\n/);
  expect(out).toMatch(/\nmail +1 +\S+ +log +half.*way\n/);
  expect(out).toMatch(/\nconsumer +step +stored +result\nmail +charge +\S+ +{"receipt":"r-1"}\n/);
  expect(await json("message", "show", "reminders", id)).toMatchObject([
    { id, consumer: "mail", steps: [{ step: "charge", result: { receipt: "r-1" } }], progress: [{ value: 0.5 }, {}] },
  ]);
  await batch.ack();
});

test("messages are cancelled by id, and the exit code says whether all were", async () => {
  await client.consumers.purge("reminders", "mail");
  const sent = await client.sendMany("reminders", [1, 2, 3]);
  const ids = sent.map(({ id }) => id);
  const [first = "", second = "", third = ""] = ids;
  expect(await json("message", "cancel", "reminders", first, second)).toEqual([
    { id: first, consumer: "mail", state: "cancelled" },
    { id: second, consumer: "mail", state: "cancelled" },
  ]);
  expect((await client.receive("reminders", { consumer: "mail" })).messages.map(({ payload }) => payload)).toEqual([3]);
  const late = await run("message", "cancel", "reminders", first, third);
  expect(late).toMatchObject({ code: 1, err: "" });
  expect(late.out).toMatch(/^ *id +consumer +state\n *\d+ +mail +cancelled\n *\d+ +mail +in_flight\n$/);
});

test("and by dedupe key", async () => {
  await client.send("reminders", 4, { dedupeKey: "order 42", delayMs: 60_000 });
  expect(await json("message", "cancel", "reminders", "--key", "order 42", "--consumer", "mail")).toMatchObject([
    { consumer: "mail", state: "cancelled" },
  ]);
  const none = await run("message", "cancel", "reminders", "--key", "nobody's");
  expect(none).toMatchObject({ code: 1, out: expect.stringContaining("No message has such a key.") });
});

test("a message that waits for its time is delivered now", async () => {
  await client.consumers.purge("reminders", "mail");
  const { id } = await client.send("reminders", 5, { delayMs: 60_000 });
  expect((await run("message", "run-now", "reminders", id)).out).toBe("Delivered 1 message.\n");
  expect((await client.receive("reminders", { consumer: "mail" })).messages.map(({ payload }) => payload)).toEqual([5]);
  const again = await run("message", "run-now", "reminders", id);
  expect(again).toMatchObject({ code: 1, out: "", err: expect.stringContaining("to wait for its time") });
});

test("what is wrong is told with what to do", async () => {
  expect(await run("message", "cancel", "reminders")).toMatchObject({ code: 2, err: expect.stringContaining("--key") });
  expect(await run("message", "cancel", "reminders", "1", "--key", "k")).toMatchObject({ code: 2 });
  await client.ensure("plain");
  expect(await run("message", "cancel", "plain", "1")).toMatchObject({
    code: 2,
    err: expect.stringContaining("was created without --allow-cancel"),
  });
});

test("a call prints the result, and a result that is kept is printed later", async () => {
  await client.ensure("reports");
  await client.subscribe("reports");
  const called = run("call", "reports", '{"kind": "daily"}');
  const settleNext = async (settle: (id: string, batch: string) => Promise<unknown>): Promise<string> => {
    for (;;) {
      const { id, messages } = await client.receive("reports");
      const [message] = messages;
      if (id === null || message === undefined) continue;
      await settle(message.id, id);
      return message.id;
    }
  };
  const first = await settleNext((id, batch) => client.ackWithResults(batch, [{ id, result: { rows: 3 } }]));
  expect(await called).toMatchObject({ code: 0, out: '{\n  "rows": 3\n}\n' });
  expect((await run("message", "result", "reports", first)).out).toBe('{\n  "rows": 3\n}\n');
  expect(await json("message", "result", "reports", first)).toMatchObject({ state: "done", result: { rows: 3 } });

  const dead = run("call", "reports", "5");
  const second = await settleNext((id, batch) => client.bury(batch, [id], "no such report"));
  expect(await dead).toMatchObject({ code: 1, out: "", err: expect.stringContaining("no such report") });
  expect(await run("message", "result", "reports", second)).toMatchObject({
    code: 1,
    out: "",
    err: expect.stringContaining("no such report"),
  });
  expect(await run("message", "result", "reports", "999")).toMatchObject({ code: 1, out: "" });
  const late = await run("call", "reports", "6", "--wait", "2s");
  expect(late).toMatchObject({ code: 1, out: "", err: expect.stringContaining("has no result after 2000 ms") });
});
