import { install, type SqlClient, uninstall, validate } from "@pgque/sql";
import { expect, test } from "vitest";
import { ownServer } from "../support/database.ts";
import { nextRelease, nextVersion } from "../support/next-release.ts";

const bin = process.env["PGQUE_TEST_STOCK_15"];
const queues = 1000;

// max_locks_per_transaction (64) times max_connections (100): what all transactions together have room for
const locksOfAServer = 6400;

test("a thousand queues are upgraded, validated and dropped on a server as Debian ships it, each transaction with a part of its locks", async () => {
  if (bin === undefined) throw new Error("expected PGQUE_TEST_STOCK_15, which npm run test:services sets");
  await using database = await ownServer({ bin, durable: true, settings: { max_connections: 100, fsync: "off" } });
  const client = await database.connect();
  const { rows } = await client.query("show max_locks_per_transaction");
  expect(rows).toEqual([{ max_locks_per_transaction: "64" }]);
  for (let n = 1; n <= queues; n += 1) await client.query("select pgque.create_queue($1)", [`queue ${n}`]);

  const locks = { upgrade: 0, validate: 0, uninstall: 0 };
  const counting = (what: keyof typeof locks): SqlClient => ({
    async query(text, values) {
      const count = async (): Promise<void> => {
        const held = await client.query("select count(*)::int as n from pg_locks where pid = pg_backend_pid()");
        locks[what] = Math.max(locks[what], held.rows[0].n);
      };
      const [, work, end] = /^(.*?)\s*(commit|rollback)$/s.exec(text) ?? [];
      if (end === undefined) return client.query(text, values);
      if (work) await client.query(work);
      await count();
      return client.query(end);
    },
  });
  const upgraded = await install(counting("upgrade"), { release: nextRelease });
  expect(upgraded).toEqual({ installed: true, version: nextVersion });
  expect(await validate(counting("validate"), { release: nextRelease })).toEqual([]);
  await uninstall(counting("uninstall"));
  for (const [what, most] of Object.entries(locks)) expect(most, what).toBeLessThan(locksOfAServer / 2);
}, 600_000);
