import { expect, test } from "vitest";
import type { PgqueError, Transaction } from "@pgque/client";
import { until } from "../../../../../test/support/until.ts";
import { failure } from "../../support/client.ts";
import type { Library } from "../library.ts";
import { Setting } from "./setting.ts";

/**
 * For libraries that outlive the end of a connection in a transaction: postgres.js 3.4 then writes its rollback to a socket that is gone, and
 * fails where nobody can catch it.
 */
export function brokenConnection<Tx extends Transaction>(library: Library<Tx>): void {
  const setting = new Setting(library);
  const { events } = setting;

  test("a connection that breaks in a transaction is said to be lost, and the next transaction has another", async () => {
    const other = await setting.database.connect();
    const holder = await other.query("select pg_backend_pid() as pid, id from pgque.queue where name = $1", [
      events.name,
    ]);
    await other.query("begin");
    await other.query(`lock table pgque.message_${holder.rows[0].id} in access exclusive mode`);
    let error: PgqueError | undefined;
    const ended = setting.app
      .transaction(async (tx) => {
        error = await failure(setting.inTransaction(tx).send(events, "lost"));
        throw error;
      })
      // what the library throws at last may be its failure to roll back
      .catch(() => undefined);
    const observer = await setting.database.connect();
    await until(async () => {
      const { rows } = await observer.query(
        "select pg_terminate_backend(pid) from pg_stat_activity where $1 = any (pg_blocking_pids(pid))",
        [holder.rows[0].pid],
      );
      return rows.length === 1;
    }, "the send waits for the lock");
    await other.query("rollback");
    await ended;
    expect(error?.code).toBe("CONNECTION_LOST");
    await setting.app.transaction((tx) => setting.inTransaction(tx).send(events, "on another connection"));
    expect(await setting.drain()).toEqual(["on another connection"]);
  });
}
