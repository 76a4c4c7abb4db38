import { expect } from "vitest";
import type pg from "pg";
import type { Batch, Expected } from "./model.ts";

/** What one consumer should find, and under which name. */
export interface View {
  consumer: string;
  expected: Expected;
  /** Its batches that are not finished. */
  open: Batch[];
}

/** peek shows each consumer what the model says that it has not received; find_message finds messages where the model has them. */
export async function looksLikeItsModel(client: pg.Client, views: View[], sent: string[]): Promise<void> {
  for (const { consumer, expected } of views) {
    const { rows } = await client.query(
      "select message_id as id, attempt, due_at is null as is_ready from pgque.peek('q', $1, max_messages => 1000)",
      [consumer],
    );
    const peeked = (isReady: boolean): [string, number][] =>
      rows.filter((row) => row.is_ready === isReady).map((row) => [row.id, row.attempt]);
    expect(new Map(peeked(true)), `what ${consumer} may receive`).toEqual(expected.ready);
    const waiting = new Set([...expected.due.keys(), ...expected.far]);
    expect(new Set(peeked(false).map(([id]) => id)), `what waits for ${consumer}`).toEqual(waiting);
    expect(rows.length, "a message is shown once").toBe(expected.ready.size + waiting.size);
  }
  // some of all messages
  const ids = sent.filter((_, index) => index % 5 === 0);
  const { rows } = await client.query(
    `select i.id, f.consumer, f.state, f.attempt, f.batch_id
       from unnest($1::bigint[]) as i(id), pgque.find_message('q', i.id) as f`,
    [ids],
  );
  for (const id of ids) {
    for (const view of views) {
      const places = rows.filter((row) => row.id === id && row.consumer === view.consumer);
      expect(places.length, `message ${id} is in one place, or nowhere any more`).toBeLessThanOrEqual(1);
      expectPlace(view, id, places[0]);
    }
  }
}

function expectPlace({ consumer, expected, open }: View, id: string, place?: Record<string, unknown>): void {
  const what = `message ${id} for ${consumer}`;
  const batch = open.find((one) => one.open.has(id));
  if (batch !== undefined)
    expect(place, what).toMatchObject({ state: "in_flight", attempt: batch.open.get(id), batch_id: batch.id });
  else if (expected.ready.has(id))
    expect(place, what).toMatchObject({ state: "waiting", attempt: expected.ready.get(id) });
  else if (expected.due.has(id) || expected.far.has(id)) expect(place, what).toMatchObject({ state: "retrying" });
  else if (expected.dead.has(id)) expect(place, what).toMatchObject({ state: "dead" });
  // its segment may have been truncated
  else if (place !== undefined) expect(place["state"], what).toMatch(/^(settled|passed)$/);
}
