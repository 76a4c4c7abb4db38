import { readFile } from "node:fs/promises";
import { sqlFiles } from "../support/sql-files.ts";
import * as fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import type pg from "pg";
import { ownServer, type OwnServer } from "../../../test/support/database.ts";
import { makeQueue, receive, send } from "../support/queue.ts";

// Names that people choose are values, whatever they look like: they end no literal, no body and no format.

let server: OwnServer;
let client: pg.Client;

beforeAll(async () => {
  server = await ownServer();
  client = await server.connect();
});
afterAll(() => server.drop());

/** Every tag that quotes something in the sources, and what else means something to SQL, to format() or to a person. */
async function fragments(): Promise<string[]> {
  const folder = new URL("../../schema/", import.meta.url);
  const sources = await Promise.all((await sqlFiles(folder)).map((file) => readFile(new URL(file, folder), "utf8")));
  const tags = new Set(sources.flatMap((source) => source.match(/\$\w*\$/g) ?? []));
  return [
    ...tags,
    "'",
    "''",
    '"',
    "\\",
    "\\'",
    "\n",
    "\r",
    "\t",
    "%",
    "%s",
    "%1$s",
    "%L",
    "%%",
    "{schema}",
    "${queue}",
    "${body:L}",
    "'{schema}.",
    ";",
    "--",
    "/*",
    "*/",
    "$1",
    "then end if; end",
    "pg_temp.",
    "é",
    "ﬀ",
    "😀",
    "\u2028",
    "\u202e",
    " ",
    "Q",
    "_1",
  ];
}

const bytes = (text: string): number => Buffer.byteLength(text);

/** As many of the pieces as fit into a name. */
function named(pieces: string[], bytesMax: number): string {
  let name = "";
  for (const piece of pieces) if (bytes(name + piece) <= bytesMax) name += piece;
  return name;
}

const value = async (query: string, values: unknown[]): Promise<unknown> =>
  Object.values((await client.query(query, values)).rows[0] ?? {})[0];

/** Everything that is done with a queue, a consumer, a worker, a key, a schedule and a role of one name. */
async function live(name: string, role: string): Promise<void> {
  const one = (call: string, ...values: unknown[]) => value(`select pgque.${call} as value`, values);
  await one("create_queue($1, $2)", name, { partitions: 2, allow_expiry: true, max_retries: 0 });
  await one("subscribe($1, $2, $3)", name, name, { mode: "shared", max_in_flight: 100 });
  await value("select format('create role %I', $1::text) as sql", [role]).then((sql) => client.query(String(sql)));
  await one("grant_queue($1, $2, 'send')", name, role);
  await one("grant_queue($1, $2, 'receive')", name, role);
  await one("change_queue($1, $2)", name, { payload_bytes_max: 1000 });
  await client.query(`set role "${role.replaceAll('"', '""')}"`);
  const id = await one("send($1, $2, $2::text, $3)", name, name, {
    key: name,
    dedupe_key: name,
    headers: { [name]: name },
  });
  expect(await one("send($1, $2, $2::text, $3)", name, name, { dedupe_key: name })).toBe(id);
  await one("send_batch($1, $2, array[$2], null, $3)", name, name, { dedupe_keys: [`${name}2`], keys: [name] });
  await one("heartbeat($1, '1 min', $1)", name);
  expect(await one("hold_session($1)", name)).toBe(true);
  expect(await one("raise_idle_flag($1)", name)).toBe(true);
  const { rows } = await client.query("select * from pgque.receive_messages($1, $1, worker => $1)", [name]);
  expect(rows.map(({ type, payload, key }) => [type, payload, key])).toEqual([
    [name, name, name],
    [name, name, name],
  ]);
  expect(rows[0].headers).toEqual({ [name]: name });
  const [batch, ids] = [rows[0].batch_id, rows.map((row) => row.message_id)];
  expect(await one("extend($1)", batch)).toBe(1);
  expect(await one("nack($1, $2::bigint[], '0 s', $3)", batch, ids, name)).toBe(2);
  await client.query("reset role");
  expect(await one("schedule($1, $1, '* * * * *', $1::text, $2)", name, { type: name, key: name })).toBe(1);
  expect(await one("run_schedule($1, date_trunc('second', clock_timestamp()))", name)).not.toBeNull();
  expect(await value("select name from pgque.schedules($1)", [name])).toBe(name);
  expect(await value("select reason from pgque.dead_letters($1, consumer => $1, type_name => $1)", [name])).toBe(name);
  expect(await value("select key from pgque.peek($1, $1)", [name])).toBe(name);
  expect(await value("select consumer from pgque.find_message($1, $2)", [name, id])).toBe(name);
  expect(await value("select count(*)::int from pgque.queue_status($1)", [name])).toBe(1);
  expect(await value("select consumer from pgque.consumer_status($1)", [name])).toBe(name);
  expect(await value("select count(*)::int from pgque.segment_status($1)", [name])).toBe(3);
  await client.query("select * from pgque.tail($1)", [name]);
  for (const call of ["pause($1, $1)", "resume($1, $1)", "pause($1)", "resume($1)", "maintain($1)", "purge($1)"])
    await one(call, name);
  expect(await one("redrive($1, consumer => $1, reason_like => $2)", name, "%")).toBe(2);
  expect(await one("seek($1, $1, 'latest')", name)).toBe("");
  expect(await one("lower_idle_flag($1)", name)).toBe(true);
  expect(await one("unschedule($1)", name)).toBe(1);
  for (const privilege of ["send", "receive"]) await one("revoke_queue($1, $2, $3)", name, role, privilege);
  expect(await one("drop_queue($1, true)", name)).toBe(1);
  await client.query(`drop role "${role.replaceAll('"', '""')}"`);
}

/** What is in the schema and what it says, but for the dispatchers, which name every queue. */
const everything = async (): Promise<unknown> =>
  (
    await client.query(
      `select p.oid::regprocedure::text as name, md5(p.prosrc) as body, p.proconfig, p.proacl from pg_proc p
        where p.pronamespace = 'pgque'::regnamespace order by 1`,
    )
  ).rows;

test("with names of every kind every function works, and no other queue is touched", async () => {
  await makeQueue(client);
  await send(client, "before");
  const found = await everything();
  const pieces = await fragments();
  const piece = fc.oneof(fc.constantFrom(...pieces), fc.string({ unit: "grapheme", maxLength: 5 }));
  const name = fc
    .tuple(fc.array(piece, { minLength: 1, maxLength: 12 }), fc.boolean())
    .map(([chosen, isFull]) =>
      named(isFull ? [...chosen, ...Array<string>(57).fill("x")] : chosen, 57).replaceAll("\0", "0"),
    )
    .filter((text) => bytes(text) >= 1 && text !== "q");
  await fc.assert(
    fc.asyncProperty(name, (chosen) =>
      live(chosen, named(["r", ...Array.from(chosen), ...Array<string>(63).fill("y")], 63)),
    ),
    { numRuns: 10, examples: chunks(pieces, 8).map((some) => [named(some, 57)]), endOnFailure: true },
  );
  expect(await everything()).toEqual(found);
  expect((await receive(client)).payloads).toEqual(["before"]);
});

function chunks(pieces: string[], size: number): string[][] {
  const all: string[][] = [];
  for (let i = 0; i < pieces.length; i += size) all.push(pieces.slice(i, i + size));
  return all;
}

test("names that are too long or empty are refused, not cut", async () => {
  for (const name of ["", "x".repeat(58), "é".repeat(29)])
    for (const call of ["create_queue($1)", "subscribe('q', $1)", "schedule($1, 'q', '* * * * *')"])
      await expect(client.query(`select pgque.${call}`, [name]), call).rejects.toMatchObject({ code: "PQ004" });
});
