import type { Delivery, Ledger } from "./ledger.ts";
import type { Storm } from "./weather.ts";

interface Row {
  batch_id: string;
  message_id: string;
  payload: string;
  attempt: number;
  leased_until: Date;
}

/** Notes what a receive returned. Until its transaction is known to have committed it counts as rolled back. */
export function noted(ledger: Ledger, consumer: string, rows: Row[]): Delivery[] {
  const at = Date.now();
  const deliveries = rows.map((row): Delivery => ({
    consumer,
    batch: row.batch_id,
    id: row.message_id,
    payload: row.payload,
    attempt: row.attempt,
    at,
    leaseUntil: row.leased_until.getTime(),
    transaction: "rolled back",
    ends: [],
  }));
  ledger.deliveries.push(...deliveries);
  return deliveries;
}

/** What a receive whose answer was lost has received, if anything: its worker's name is on the batch. */
export async function lookUpLost(
  storm: Storm,
  consumer: string,
  worker: string,
  askedAt: number,
  leaseMs: number,
): Promise<void> {
  const { rows } = await storm.lookUps.query<Row>(
    `select b.id as batch_id, b.lease_until as leased_until, m.message_id, m.attempt, m.payload
       from pgque.batch_1 b
      cross join lateral pgque.batch_messages(b.id) m
      where b.worker = $1`,
    [worker],
  );
  for (const delivery of noted(storm.ledger, consumer, rows)) delivery.transaction = "committed";
  // with its lease over, the batch may have been there and its segment truncated
  if (rows.length === 0 && Date.now() >= askedAt + leaseMs) storm.ledger.lost.push({ consumer, askedAt });
}
