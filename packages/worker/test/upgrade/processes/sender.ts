// Sends to each queue, until it is told to end, as an application that goes on while the schema is upgraded, and writes what became of each
// message. Arguments: folder of the ledgers, names of the queues.
import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { Pgque } from "@pgque/client";
import { Client, Pool } from "pg";
import { ledgerOfProcess } from "../../faults/ledger.ts";

const [folder = "", ...queues] = process.argv.slice(2);
// who waits for a lock for longer fails
const config = { connectionString: process.env["DATABASE_URL"], options: "-c lock_timeout=1s" };
const pool = new Pool(config);
const pgque = new Pgque(pool);
const byHand = new Client(config);
await byHand.connect();
const over = new AbortController();
process.once("SIGTERM", () => over.abort());
const notes = queues.map((queue) => ledgerOfProcess(path.join(folder, queue)));

/** The ways of sending take turns; that of the second is a prepared statement, whose plan is kept. */
const ways: ((queue: string, what: string, key: string) => Promise<unknown>)[] = [
  (queue, what, key) => pgque.send(queue, what, queue === "keyed" ? { key } : {}),
  (queue, what, key) => {
    const options = queue === "keyed" ? { key } : null;
    const text = "select pgque.send($1, 'default', $2, $3)";
    return byHand.query({ name: "send", text, values: [queue, JSON.stringify(what), options] });
  },
  (queue, what, key) => pgque.sendMany(queue, [what], queue === "keyed" ? { keys: [key] } : {}),
  (queue, what, key) =>
    pgque.send(queue, what, queue === "keyed" ? { key, ttlMs: 600_000 } : { dedupeKey: what, delayMs: 50 }),
];

for (let number = 0; !over.signal.aborted; number += 1) {
  for (const [i, queue] of queues.entries()) {
    // several keys, each in each way
    const key = `${process.pid}-${Math.floor(number / ways.length) % 3}`;
    const what = `${key}/${number}`;
    notes[i]?.("sending", what);
    try {
      await ways[number % ways.length]?.(queue, what, key);
      notes[i]?.("sent", what);
    } catch (error) {
      notes[i]?.("refused", what);
      notes[i]?.("said", `send failed: ${String(error)}`);
    }
  }
  await pause(2);
}
await byHand.end();
await pool.end();
