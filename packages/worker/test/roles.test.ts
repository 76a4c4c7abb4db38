import { defineQueue, Pgque } from "@pgque/client";
import { expect, test } from "vitest";
import { ownServer } from "../../../test/support/database.ts";
import { until } from "../../../test/support/until.ts";
import { startWorker } from "./support/worker.ts";

test("a worker needs the right to receive from its queue, a sender that to send, and each is refused the other's", async () => {
  await using database = await ownServer();
  const admin = await database.connect();
  await admin.query(`
    create role worker login password 'secret';
    create role sender login password 'secret' in role pgque_writer;
    select pgque.create_queue('orders'), pgque.create_queue('secrets'), pgque.grant_queue('orders', 'worker', 'receive');
  `);
  const as = (user: string): Pgque => {
    const url = new URL(database.url);
    [url.username, url.password] = [user, "secret"];
    return new Pgque(url.href);
  };
  await using worker = as("worker");
  await using sender = as("sender");
  const [orders, secrets] = [defineQueue("orders"), defineQueue("secrets")];

  const attempts: number[] = [];
  const running = await startWorker(worker, orders, (message) => {
    attempts.push(message.attempt);
    if (message.attempt === 1) throw new Error("once more");
  });
  await sender.send(orders, 42);
  await until(() => attempts.length === 2, "the message is handled, failed and handled again");
  await running.stop();

  await expect(worker.send(orders, 1)).rejects.toMatchObject({
    code: "ACCESS_DENIED",
    hint: expect.stringContaining("pgque_writer"),
  });
  await expect(worker.receive(secrets)).rejects.toMatchObject({ code: "ACCESS_DENIED", details: { queue: "secrets" } });
  await expect(worker.subscribe(secrets)).rejects.toMatchObject({
    code: "ACCESS_DENIED",
    hint: "select grant_queue('secrets', 'worker', 'receive')",
  });
  await expect(sender.receive(orders)).rejects.toMatchObject({ code: "ACCESS_DENIED" });
  await expect(sender.ensure(defineQueue("new"))).rejects.toMatchObject({ code: "ACCESS_DENIED" });
  expect(await sender.ensure(defineQueue("orders", { maxRetries: 9 }))).toEqual({
    created: false,
    differences: [{ option: "maxRetries", wanted: 9, found: 5 }],
  });
});
