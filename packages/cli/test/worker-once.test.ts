import { defineQueue } from "@pgque/client";
import { expect, test } from "vitest";
import { freshCli, jsonLines } from "./support/cli.ts";
import { TaskFolder } from "./support/task-folder.ts";

const { client, run } = await freshCli();

async function queueWith(name: string, ...payloads: unknown[]): Promise<ReturnType<typeof defineQueue>> {
  const queue = defineQueue(name, { maxRetries: 0 });
  await client.ensure(queue);
  await client.subscribe(queue, "default");
  if (payloads.length > 0) await client.sendMany(queue, payloads);
  return queue;
}

test("--once drains all queues, messages that handlers send to another included, and exits with 0", async () => {
  const folder = await TaskFolder.create({
    "orders.js": `import { defineQueue } from "@pgque/client";
      const receipts = defineQueue("a receipt", { maxRetries: 0 });
      export default async ({ payload }, { send }) => send(receipts, payload);`,
    "a receipt.js": "export default ({ payload }) => console.log(JSON.stringify({ receipt: payload }));",
  });
  await queueWith("orders", 1, 2);
  await queueWith("a receipt");
  const { code, out, err } = await run("worker", folder.path, "--once");
  expect({ code, err }).toEqual({ code: 0, err: "" });
  const lines: Record<string, unknown>[] = jsonLines(out);
  expect(lines.flatMap((line) => ("receipt" in line ? [line["receipt"]] : []))).toEqual(expect.arrayContaining([1, 2]));
  expect(lines.at(-1)).toMatchObject({ level: "info", msg: "drained", done: 4, retried: 0, dead: 0 });
});

test("--once exits with 1 when a message failed for good, after it has handled the others", async () => {
  const folder = await TaskFolder.create({
    "cards.js": "export default ({ payload }) => { if (payload === 2) throw new Error('declined'); };",
  });
  const queue = await queueWith("cards", 1, 2, 3);
  const { code, out, err } = await run("worker", folder.path, "--once");
  expect(code).toBe(1);
  expect(err).toContain("1 message failed for good and is a dead letter. pgque dlq list QUEUE shows why");
  expect(jsonLines(out).at(-1)).toMatchObject({ done: 2, dead: 1 });
  expect(await client.deadLetters.list(queue)).toHaveLength(1);
});

test("--queue serves that queue alone, for the consumer of --consumer", async () => {
  const folder = await TaskFolder.create({
    "left.js": "export default () => console.log('{\"left\":true}');",
    "right.js": "export default () => console.log('{\"right\":true}');",
  });
  const [left, right] = [await queueWith("left", 1), await queueWith("right", 1)];
  await client.subscribe(right, "audit", { from: "earliest" });
  const { code, out } = await run("worker", folder.path, "--once", "--queue", "right", "--consumer", "audit");
  expect(code).toBe(0);
  expect(out).toContain('{"right":true}');
  expect(out).not.toContain('{"left":true}');
  expect((await client.receive(left)).messages).toHaveLength(1);
  expect((await client.receive(right)).messages).toHaveLength(1);
});

test("a queue that no task serves is wrong usage, and so are --once and --watch together", async () => {
  const folder = await TaskFolder.create({ "orders.js": "export default () => undefined;" });
  const unknown = await run("worker", folder.path, "--once", "--queue", "order");
  expect(unknown).toMatchObject({ code: 2, err: expect.stringContaining('got: "order"; served: "orders"') });
  expect((await run("worker", folder.path, "--once", "--watch")).code).toBe(2);
});
