import type pg from "pg";
import { pause } from "../../cursor/workload.ts";
import { isCancelled } from "../../support/sessions.ts";
import type { Fate } from "./ledger.ts";
import { expose, rollBack, type Storm } from "./weather.ts";

/** Sends until told to stop: alone or in transactions, with savepoints and rollbacks, at once or delayed. */
export async function produce(storm: Storm, client: pg.Client): Promise<void> {
  await expose(client);
  while (storm.raging) {
    try {
      await (storm.random() < 0.3 ? sendAlone(storm, client) : sendInTransaction(storm, client));
    } catch (error) {
      if (!isCancelled(error)) throw error;
      storm.ledger.cancelled += 1;
      await rollBack(client);
    }
    await pause(storm.random() * 10);
  }
}

async function sendAlone(storm: Storm, client: pg.Client): Promise<void> {
  const payloads = newPayloads(storm);
  decide(storm, payloads, "unknown");
  try {
    await sendSome(storm, client, payloads);
    decide(storm, payloads, "committed");
  } catch (error) {
    if (isCancelled(error)) decide(storm, payloads, "rolled back");
    throw error;
  }
}

async function sendInTransaction(storm: Storm, client: pg.Client): Promise<void> {
  const { random } = storm;
  const kept: string[] = [];
  await client.query("begin");
  for (let parts = 1 + Math.floor(random() * 4); parts > 0; parts--) {
    const payloads = newPayloads(storm);
    if (random() < 0.3) {
      await client.query("savepoint part");
      const undone = await sendSome(storm, client, payloads).then(
        () => random() < 0.5,
        (error) => {
          if (!isCancelled(error)) throw error;
          return true;
        },
      );
      if (undone) await client.query("rollback to part");
      else kept.push(...payloads);
    } else {
      await sendSome(storm, client, payloads);
      kept.push(...payloads);
    }
    await pause(heldForMs(random));
  }
  if (random() < 0.2) return rollBack(client);
  decide(storm, kept, "unknown");
  // the commit of a transaction that has failed is a rollback
  const { command } = await client.query("commit");
  decide(storm, kept, command === "COMMIT" ? "committed" : "rolled back");
}

/** Until they are committed, messages count as rolled back. */
function newPayloads(storm: Storm): string[] {
  const payloads = Array.from({ length: 1 + Math.floor(storm.random() * 3) }, () => {
    const kind = storm.random() < 0.005 ? "poison" : "message";
    return `${kind} ${storm.nextNumber()} ${" ".repeat(storm.random() * 300)}`;
  });
  for (const payload of payloads) storm.ledger.sent.set(payload, { fate: "rolled back", dueAt: 0 });
  return payloads;
}

async function sendSome(storm: Storm, client: pg.Client, payloads: string[]): Promise<void> {
  const delayMs = storm.random() < 0.3 ? Math.floor(storm.random() * 2000) : 0;
  for (const payload of payloads) {
    const sent = storm.ledger.sent.get(payload);
    if (sent) sent.dueAt = delayMs > 0 ? Date.now() + delayMs : 0;
  }
  const options = delayMs > 0 ? { delay: delayMs / 1000 } : null;
  if (storm.random() < 0.5) {
    await client.query("select pgque.send_batch('q', 'default', $1::text[], null, $2)", [payloads, options]);
    return;
  }
  // one statement, so that alone they are sent or not together
  const calls = payloads.map((_, i) => `pgque.send('q', 'default', $${i + 2}::text, $1)`).join(", ");
  await client.query(`select ${calls}`, [options, ...payloads]);
}

function decide(storm: Storm, payloads: string[], fate: Fate): void {
  for (const payload of payloads) {
    const sent = storm.ledger.sent.get(payload);
    if (sent) sent.fate = fate;
  }
}

/** How long a transaction stays open between two sends: mostly not at all, now and then for up to a second. */
function heldForMs(random: () => number): number {
  const dice = random();
  if (dice < 0.8) return 0;
  return random() * (dice < 0.98 ? 30 : 1000);
}
