import { Pgque } from "@pgque/client";
import type { Fields } from "@pgque/worker";
import { expect, test } from "vitest";
import { freshDatabase } from "../../../../test/support/database.ts";
import { until } from "../../../../test/support/until.ts";
import { freshQueue, makeWorker } from "../support/worker.ts";

const database = await freshDatabase();
const pgque = new Pgque(database.pool());

function recorder() {
  const lines: { message: string; fields: Fields }[] = [];
  const line = (message: string, fields: Fields = {}): void => void lines.push({ message, fields });
  return { lines, log: { debug: line, info: line, warn: line, error: line } };
}

test("every line says queue, consumer and worker; one about a message its id and attempt", async () => {
  const queue = await freshQueue(pgque, { maxRetries: 1 });
  const { lines, log } = recorder();
  const handler = (_: unknown, context: { log: typeof log }): never => {
    context.log.info("charging", { cents: 990 });
    throw new Error("declined");
  };
  const worker = makeWorker(pgque, queue, handler, { consumer: "billing", log });
  await worker.start();
  const { id } = await pgque.send(queue, 1);
  await until(() => lines.filter(({ message }) => message === "message failed").length === 2, "it failed twice");
  await worker.stop();
  const about = { queue: queue.name, consumer: "billing", worker: worker.name };
  for (const { fields } of lines) expect(fields).toMatchObject(about);
  expect(lines.map(({ message }) => message)).toEqual(
    expect.arrayContaining(["worker started", "worker stopping", "worker stopped"]),
  );
  const said = lines.filter(({ message }) => message === "charging").map(({ fields }) => fields);
  expect(said).toEqual([1, 2].map((attempt) => ({ ...about, message: id, attempt, cents: 990 })));
  const failed = lines.filter(({ message }) => message === "message failed").map(({ fields }) => fields);
  expect(failed).toMatchObject([1, 2].map((attempt) => ({ ...about, message: id, attempt })));
});

test("lines about a batch say which, those about a type without a handler which message", async () => {
  const queue = await freshQueue(pgque);
  const { lines, log } = recorder();
  const { id } = await pgque.send(queue, 1, { type: "fax" });
  const strict = makeWorker(pgque, queue, { mail: () => undefined }, { log, unknownType: "ack" });
  await strict.start();
  const unknown = (): Fields | undefined => lines.find(({ message }) => message.includes('"fax"'))?.fields;
  await until(() => unknown() !== undefined, "the unknown type is logged");
  await strict.stop();
  expect(unknown()).toMatchObject({ queue: queue.name, worker: strict.name, message: id, attempt: 1 });

  await pgque.send(queue, 2);
  const many = makeWorker(pgque, queue, (messages, context) => context.log.info("many", { n: messages.length }), {
    batch: true,
    log,
  });
  await many.start();
  await until(() => lines.some(({ message }) => message === "many"), "the batch is handled");
  expect(lines.find(({ message }) => message === "many")?.fields).toEqual({
    queue: queue.name,
    consumer: "default",
    worker: many.name,
    batch: expect.stringMatching(/^\d+$/),
    n: 1,
  });
});
