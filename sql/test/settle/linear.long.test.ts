import { afterEach, beforeEach, expect, test } from "vitest";
import type pg from "pg";
import { freshDatabase, type TestDatabase } from "../../../test/support/database.ts";
import { workOf, type Work } from "../support/plans.ts";

// What a batch costs grows with its messages, not with their square.

let database: TestDatabase;
let client: pg.Client;
beforeEach(async () => {
  database = await freshDatabase();
  client = await database.connect();
  await client.query(`select pgque.create_queue('q', '{"partitions": 1, "max_retries": 0}')`);
});
afterEach(() => database.drop());

const [few, many] = [400, 4000];

interface Held {
  batch: string;
  ids: string[];
}

/** A batch of so many messages, held by a consumer of its own. */
async function held(messages: number, mode: string, lease = "1 h"): Promise<Held> {
  const consumer = `${mode} ${messages}`;
  await client.query("select pgque.subscribe('q', $1, $2)", [consumer, { mode, from: "latest" }]);
  await client.query("select pgque.send_batch('q', 't', array_fill('x'::text, array[$1::int]))", [messages]);
  return again(consumer, lease);
}

async function again(consumer: string, lease = "1 h"): Promise<Held> {
  const { rows } = await client.query(
    "select * from pgque.receive_messages('q', $1, max_messages => 100000, lease => $2)",
    [consumer, lease],
  );
  return { batch: rows[0].batch_id, ids: rows.map((row) => row.message_id) };
}

const settle = "select pgque.settle($1, release_ids => $2, dead_ids => $3)";
const half = ({ batch, ids }: Held): unknown[] => [
  batch,
  ids.filter((_, n) => n % 2 === 0),
  ids.filter((_, n) => n % 2),
];

const calls: [string, (messages: number) => Promise<[statement: string, values: unknown[]]>][] = [
  ...["shared", "exclusive", "ordered"].map((mode): (typeof calls)[number] => [
    `settle of ${mode} consumer`,
    async (messages) => [settle, half(await held(messages, mode))],
  ]),
  [
    "nack of the rest of a rest of an ordered consumer",
    async (messages) => {
      const first = await held(messages, "ordered");
      await client.query(settle, [first.batch, first.ids, []]);
      const rest = await again(`ordered ${messages}`);
      await client.query("select pgque.ack($1, $2::bigint[])", [rest.batch, rest.ids.slice(messages / 2)]);
      return ["select pgque.nack($1, $2::bigint[], '0 s')", [rest.batch, rest.ids]];
    },
  ],
  [
    "receive that takes a batch over whose attempts are used up",
    async (messages) => {
      await held(messages, "exclusive", "1 us");
      return [`select from pgque.receive_messages('q', 'exclusive ${messages}')`, []];
    },
  ],
  [
    "recovery of a batch",
    async (messages) => {
      await held(messages, "shared", "1 us");
      return ["select pgque.recover(1)", []];
    },
  ],
];

test.each(calls)("the %s does ten times the work with ten times the messages", async (_name, prepare) => {
  const done: Work[] = [];
  for (const messages of [few, many]) {
    const [statement, values] = await prepare(messages);
    const session = await database.connect();
    done.push(await workOf(session, statement, values));
    await session.end();
  }
  expect(done[1]?.rows).toBeGreaterThan(many);
  expect(done[1]?.rows).toBeLessThan(12 * (done[0]?.rows ?? 0));
  expect(done.flatMap(({ listsCompared }) => listsCompared)).toEqual([]);
});
