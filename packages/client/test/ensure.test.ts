import { expect, test } from "vitest";
import { defineQueue, Pgque, type QueueOptions } from "@pgque/client";
import { failure, freshClient } from "./support/client.ts";

const { database, pgque } = await freshClient();

/** Every option that a queue with priorities can have, and another value of each. */
const everyOption: Record<
  Exclude<keyof QueueOptions, "partitions">,
  [QueueOptions[keyof QueueOptions], QueueOptions[keyof QueueOptions]]
> = {
  maxRetries: [3, 4],
  maxCrashes: [5, 6],
  rotationBytes: [10_000, 20_000],
  rotationPeriodMs: [1500, 90_000_000],
  rotationMinIntervalMs: [1, 0],
  retentionMs: [86_400_000, 86_400_001],
  maxLagMs: [7, 8],
  maxLagAction: ["drop", "warn"],
  payloadBytesMax: [10, 11],
  notify: [false, true],
  priorities: [4, 5],
  lowPriorityEvery: [2, 3],
  allowExpiry: [true, false],
  allowCancel: [true, false],
};
const options = (which: 0 | 1): QueueOptions =>
  Object.fromEntries(Object.entries(everyOption).map(([name, values]) => [name, values[which]]));

test("ensure says of every option that a definition names what it is in the database, if it differs", async () => {
  expect(await pgque.ensure(defineQueue("all", options(0)))).toEqual({ created: true, differences: [] });
  expect(await pgque.ensure(defineQueue("all", options(0)))).toEqual({ created: false, differences: [] });
  const { differences } = await pgque.ensure(defineQueue("all", options(1)));
  expect(differences).toEqual(
    Object.entries(everyOption).map(([option, [found, wanted]]) => ({ option, wanted, found })),
  );
  const byKey = await pgque.ensure(defineQueue("all", { partitions: 16, retentionMs: undefined }));
  expect(byKey.differences).toEqual([{ option: "partitions", wanted: 16, found: null }]);
});

test("what a definition does not name is not compared, whatever the default is", async () => {
  await pgque.ensure(defineQueue("own", { maxRetries: 1, payloadBytesMax: 10, notify: false }));
  expect(await pgque.ensure("own")).toEqual({ created: false, differences: [] });
  expect(await pgque.ensure(defineQueue("own", { notify: false }))).toEqual({ created: false, differences: [] });
});

test("with strict it fails, names each option, what was expected and found, and changes nothing", async () => {
  await pgque.ensure(defineQueue("strict", { maxRetries: 1 }), { strict: true });
  await pgque.ensure(defineQueue("strict", { maxRetries: 1 }), { strict: true });
  const error = await failure(
    pgque.ensure(defineQueue("strict", { maxRetries: 2, maxLagMs: 1000, notify: true }), { strict: true }),
  );
  expect(error).toMatchObject({
    code: "OPTIONS_DIFFER",
    details: {
      queue: "strict",
      differences: [
        { option: "maxRetries", wanted: 2, found: 1 },
        { option: "maxLagMs", wanted: 1000, found: null },
      ],
    },
  });
  expect(error.message).toBe(
    'queue "strict" is there with other options: expected `maxRetries` to be 2, found: 1; expected `maxLagMs` to be 1000, ' +
      "found: none. Change the queue with `pgque.queues.change`, which can raise `partitions` and `priorities`, and change all else; or change the definition",
  );
  expect(await pgque.queues.settings("strict")).toMatchObject({ maxRetries: 1, maxLagMs: null });
  expect((await failure(pgque.ensure("strict", { strict: 1 } as never))).code).toBe("INVALID_OPTION");
});

test("subscribe says and refuses the same of a consumer", async () => {
  const queue = defineQueue("consumers", { partitions: 16 });
  await pgque.ensure(queue);
  const given = { mode: "ordered", onFailure: "skip", rateLimit: 5, ratePeriodMs: 60_000 } as const;
  expect(await pgque.subscribe(queue, "c", given)).toEqual({ created: true, differences: [], skipped: 0 });
  expect(await pgque.subscribe(queue, "c", given)).toEqual({ created: false, differences: [], skipped: 0 });
  const other = { mode: "ordered", onFailure: "block", maxInFlight: 9, rateLimit: 5, ratePeriodMs: 500 } as const;
  const differences = [
    { option: "onFailure", wanted: "block", found: "skip" },
    { option: "maxInFlight", wanted: 9, found: null },
    { option: "ratePeriodMs", wanted: 500, found: 60_000 },
  ];
  expect(await pgque.subscribe(queue, "c", other)).toEqual({ created: false, differences, skipped: 0 });
  expect(await failure(pgque.subscribe(queue, "c", { ...other, strict: true }))).toMatchObject({
    code: "OPTIONS_DIFFER",
    message: expect.stringContaining(
      'consumer "c" of queue "consumers" is there with other options: expected `onFailure`',
    ),
    details: { queue: "consumers", consumer: "c", differences },
  });
});

test("subscribe says how many messages a new consumer skips", async () => {
  const queue = defineQueue("backlog");
  await pgque.ensure(queue);
  await pgque.sendMany(queue, [1, 2, 3]);
  expect(await pgque.subscribe(queue, "first")).toMatchObject({ created: true, skipped: 0 });
  expect(await pgque.subscribe(queue, "second")).toMatchObject({ created: true, skipped: 3 });
  expect(await pgque.subscribe(queue, "second")).toMatchObject({ created: false, skipped: 0 });
  expect(await pgque.subscribe(queue, "third", { from: "latest" })).toMatchObject({ skipped: 3 });
  expect(await pgque.subscribe(queue, "fourth", { from: "earliest" })).toMatchObject({ skipped: 0 });
  await pgque.consumers.seek(queue, "second", "earliest");
  expect((await pgque.receive(queue, { consumer: "second" })).messages).toHaveLength(3);
});

test("in a transaction it says the same of a queue that was made there", async () => {
  const client = await database.connect();
  await client.query("begin");
  const tx = new Pgque(client);
  expect(await tx.ensure(defineQueue("within", { maxRetries: 1 }))).toMatchObject({ created: true });
  expect((await tx.ensure(defineQueue("within", { maxRetries: 2 }))).differences).toHaveLength(1);
  await client.query("rollback");
  expect((await failure(pgque.subscribe("within"))).code).toBe("QUEUE_NOT_FOUND");
});
