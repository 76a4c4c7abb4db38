import { expect, test } from "vitest";
import { defineQueue, PgqueError, type Transaction } from "@pgque/client";
import { failure } from "../../support/client.ts";
import type { Library } from "../library.ts";
import { Changed, Setting } from "./setting.ts";

/** What something fails with. */
async function thrown(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => expect.fail("expected an error, got a result"),
    (error: unknown) => error,
  );
}

/** An error about Pgque is the same of every library; any other comes as the library throws it. */
export function errors<Tx extends Transaction>(library: Library<Tx>): void {
  const setting = new Setting(library);
  const { events } = setting;
  const small = defineQueue("small", { payloadBytesMax: 10 });

  /** The error of something done in a transaction that rolls back because of it. */
  const failed = (work: (tx: Tx) => Promise<unknown>, isolation?: "serializable") =>
    failure(setting.app.transaction(work, isolation));

  test("that is about Pgque has a code, a hint, the server's code and its cause", async () => {
    const missing = await failed((tx) => setting.inTransaction(tx).send("nowhere", 1));
    expect(missing).toMatchObject({
      code: "QUEUE_NOT_FOUND",
      hint: "Create it with `await pgque.ensure(queue)`",
      details: { queue: "nowhere", sqlstate: "PQ001" },
      cause: expect.any(Error),
    });
    // knex puts the statement before it
    expect(missing.message).toContain("queue not found: nowhere");

    const unsubscribed = await failed((tx) => setting.inTransaction(tx).receive(events, { consumer: "nobody" }));
    expect(unsubscribed).toMatchObject({ code: "CONSUMER_NOT_FOUND", details: { sqlstate: "PQ002" } });

    await setting.outside.ensure(small);
    const large = await failed((tx) => setting.inTransaction(tx).send(small, "x".repeat(100)));
    expect(large).toMatchObject({ code: "INVALID_ARGUMENT", details: { queue: "small", sqlstate: "PQ004" } });

    const lost = await failed((tx) => setting.inTransaction(tx).ackStrict("4096"));
    expect(lost).toMatchObject({ code: "LEASE_LOST", details: { sqlstate: "PQ006" } });
    expect(lost.hint).toContain("Roll back");

    const late = await failed((tx) => setting.inTransaction(tx).receive(events), "serializable");
    expect(late).toMatchObject({ code: "ISOLATION_LEVEL", details: { sqlstate: "PQ005" } });

    const unstorable = await failed((tx) => setting.inTransaction(tx).send(events, 1, { headers: { a: "\0" } }));
    expect(unstorable).toMatchObject({ code: "INVALID_ARGUMENT", details: { sqlstate: "22P05" } });
  });

  test("leaves it aborted, as any error of Postgres does, and a nested transaction keeps it from that", async () => {
    const aborted = await thrown(
      setting.app.transaction(async (tx) => {
        await failure(setting.inTransaction(tx).send("nowhere", 1));
        await setting.inTransaction(tx).send(events, "after an error");
      }),
    );
    // postgres.js gives the error that aborted it, the others the last one
    expect(library.sqlstateOf(aborted)).toMatch(/^25P02$|^PQ001$/);
    await setting.app.transaction(async (tx) => {
      await failure(setting.app.nested(tx, (inner) => setting.inTransaction(inner).send("nowhere", 1)));
      await setting.inTransaction(tx).send(events, "after a savepoint");
    });
    expect(await setting.drain()).toEqual(["after a savepoint"]);
  });

  test("that is not about Pgque comes as the library throws it: a serialization failure", async () => {
    const other = await setting.database.connect();
    await other.query("create table public.seen (); grant all on public.seen to public");
    const { rows } = await other.query("select id from pgque.queue where name = $1", [events.name]);
    const attempt = (interfere: () => Promise<unknown>) =>
      setting.app.transaction(async (tx) => {
        await setting.app.run(tx, "select count(*)::int from public.seen");
        await interfere();
        await setting.inTransaction(tx).send(events, "in turn");
      }, "serializable");

    const error = await thrown(
      attempt(async () => {
        await other.query("begin isolation level serializable");
        await other.query(`select count(*) from pgque.message_${rows[0].id}`);
        await other.query("insert into public.seen default values");
        await other.query("commit");
      }),
    );
    expect(error).not.toBeInstanceOf(PgqueError);
    expect(library.sqlstateOf(error)).toBe("40001");
    await attempt(() => Promise.resolve());
    expect(await setting.drain()).toEqual(["in turn"]);
  });

  test("of the work's own is not touched", async () => {
    const error = new Changed();
    expect(await thrown(setting.app.transaction(() => Promise.reject(error)))).toBe(error);
  });
}
