// A sender, until it is told to end: sends message after message, each tenth in a transaction that is rolled back, and writes what became of
// each. Arguments: folder of the ledger, name of the queue, its definition.
import { setTimeout as pause } from "node:timers/promises";
import { Pgque, isPgqueError, defineQueue } from "@pgque/client";
import { ledgerOfProcess } from "../ledger.ts";

const [folder = "", name = "", definition = "{}"] = process.argv.slice(2);
const note = ledgerOfProcess(folder);
// as an application that is to survive a connection that says nothing: its own statements have a limit too
const connection = { connectionString: process.env["DATABASE_URL"], query_timeout: 5000 };
await using pgque = new Pgque(connection, { callTimeoutMs: 5000 });
const options = JSON.parse(definition);
const queue = defineQueue(name, options);
const keys = 3;
const over = new AbortController();
process.once("SIGTERM", () => over.abort());

for (let number = 0; !over.signal.aborted; number += 1) {
  const key = `${process.pid}-${number % keys}`;
  const what = `${key}/${number}`;
  note("sending", what);
  try {
    if (number % 10 === 9) {
      note("undone", what);
      await sendAndRollBack(what, key);
    } else {
      await pgque.send(queue, what, keyed(key));
      note("sent", what);
    }
    await pause(2);
  } catch (error) {
    const isRefused = isPgqueError(error) && ["DATABASE_UNREACHABLE", "READ_ONLY"].includes(error.code);
    if (isRefused) note("refused", what);
    await pause(50);
  }
}

async function sendAndRollBack(what: string, key: string): Promise<void> {
  const client = await pgque.pool.connect();
  client.on("error", () => undefined);
  try {
    await client.query("begin");
    await pgque.inTransaction(client).send(queue, what, keyed(key));
    await client.query("rollback");
  } finally {
    client.release(true);
  }
}

function keyed(key: string): { key?: string } {
  return options.partitions !== undefined ? { key } : {};
}
