// Receives by hand for the ordered consumer "ordered", until it is told to end. Arguments: folder of the ledger, name of the queue.
import { setTimeout as pause } from "node:timers/promises";
import { Pgque } from "@pgque/client";
import { ledgerOfProcess } from "../ledger.ts";

const [folder = "", name = ""] = process.argv.slice(2);
const note = ledgerOfProcess(folder);
await using pgque = new Pgque(process.env["DATABASE_URL"]);
const over = new AbortController();
process.once("SIGTERM", () => over.abort());

while (!over.signal.aborted) {
  try {
    const batch = await pgque.receive(name, { consumer: "ordered", max: 10, leaseMs: 2000 });
    for (const { payload } of batch.messages) note("handled", String(payload), "ordered");
    if (batch.id === null) await pause(10);
    else await batch.ack();
  } catch {
    await pause(50);
  }
}
