import { randomUUID } from "node:crypto";
import type { Connection, Row } from "../connection/connection.ts";
import type { DefaultsOf } from "../options/option.ts";
import type { receiveOptions } from "../receive/receive-options.ts";
import { milliseconds } from "./values.ts";

/** A row of `receive_messages`, read. */
export interface ReceivedRow {
  batchId: string;
  id: string;
  attempt: number;
  type: string;
  payload: string;
  headers: Record<string, unknown>;
  createdAt: Date;
  leasedUntil: Date;
  priority: number | null;
  key: string | null;
  crashes: number;
}

/** What few messages have: attempt, priority, key, crashes. */
type Rest = readonly [attempt: number, priority: number | null, key: string | null, crashes: number | null];

/** As `epochMs`, in floating point, which is rounded: one for every message received. */
const roundedMs = (expression: string): string => `(date_part('epoch', ${expression}) * 1000)::bigint::text`;

/** A receive that a crash undoes is only delivered again, so its own transaction need not wait for the disk. An ack waits. */
const withoutWaiting = ", (select set_config('synchronous_commit', 'off', true)) as commit";

/**
 * A row for every hundred messages, with lists, and of what few messages have only what is there: to read ten columns of every message costs a
 * worker more than all else that it does with it. A hundred payloads are no text too long for either side. `n` is the place of a message
 * in the batch: whatever plan makes the groups, each comes to its own.
 */
const lists = `
  min(batch_id)::text, ${roundedMs("min(leased_until)")} as leased_ms, string_agg(n::text, ',') as places, string_agg(message_id::text, ',') as ids,
  string_agg(${roundedMs("created_at")}, ',') as created_ms, string_agg(type, separator) as types, string_agg(coalesce(payload, 'null'), separator) as payloads,
  string_agg(n::text, ',') filter (where headers is not null) as places_with_headers,
  string_agg(headers::text, ',') as headers,
  json_object_agg(n, json_build_array(attempt, priority, key, crashes))
    filter (where attempt <> 1 or priority is not null or key is not null or crashes is not null)::text as rest`;

/** What no receive goes beyond, but for its last message: a hundred payloads have to fit into one text, here half a gigabyte at most. */
const longestBytes = 256 * 1024 * 1024;

/** The messages of one receive, in order. */
export async function receiveMessages(
  db: Connection,
  request: DefaultsOf<typeof receiveOptions> & { queue: string; worker: string; finished?: string | undefined },
  signal?: AbortSignal,
): Promise<ReceivedRow[]> {
  const { queue, consumer, worker, max, maxBytes, leaseMs, reportsStarted, finished } = request;
  // nobody who sends can know it: no payload or type holds it
  const separator = `,${randomUUID()},`;
  const groups = await db.rows(
    (s) => `
      select ${lists}${db.commitsEachStatement && finished === undefined ? withoutWaiting : ""}
        from ${s}.${finished === undefined ? "receive_messages(" : "next_messages(finished => array[$9::text::bigint], "}queue => $1, consumer => $2, worker => $3, max_messages => $4::text::integer, lease => $5::text::interval, max_bytes => $6::text::integer, reports_started => $7::text::boolean)
             with ordinality as r (batch_id, message_id, attempt, type, payload, headers, created_at, leased_until, priority, key, crashes, n)
       cross join (select $8::text) as s (separator)
       group by (n - 1) / 100`,
    [
      queue,
      consumer,
      worker,
      String(max),
      milliseconds(leaseMs),
      String(Math.min(maxBytes, longestBytes)),
      String(reportsStarted),
      separator,
      ...(finished === undefined ? [] : [finished]),
    ],
    { queue, consumer, signal },
  );
  const received: ReceivedRow[] = [];
  for (const group of groups) readGroup(group, separator, received);
  return received;
}

function readGroup(group: Row, separator: string, received: ReceivedRow[]): void {
  const [batch, leasedMs, ...texts] = Object.values(group);
  const [places = [], ids = [], created = []] = texts.slice(0, 3).map((text) => String(text).split(","));
  const [types = [], payloads = []] = texts.slice(3, 5).map((text) => String(text).split(separator));
  const [placesWithHeaders, headers, rest] = texts.slice(5, 8);
  const headersOf = typeof headers === "string" ? listed(String(placesWithHeaders), headers) : none;
  const restOf: Record<string, Rest> = typeof rest === "string" ? JSON.parse(rest) : {};
  const batchId = String(batch);
  const leasedUntil = new Date(Number(leasedMs));
  for (const [i, place] of places.entries()) {
    const [attempt, priority, key, crashes] = restOf[place] ?? usual;
    received[Number(place) - 1] = {
      batchId,
      leasedUntil,
      id: ids[i] ?? "",
      attempt,
      type: types[i] ?? "",
      payload: payloads[i] ?? "",
      headers: headersOf.get(place) ?? {},
      createdAt: new Date(Number(created[i])),
      priority,
      key,
      crashes: crashes ?? 0,
    };
  }
}

const usual: Rest = [1, null, null, null];

const none: ReadonlyMap<string, Record<string, unknown>> = new Map();

/** Headers by place. */
function listed(places: string, headers: string): ReadonlyMap<string, Record<string, unknown>> {
  const read: Record<string, unknown>[] = JSON.parse(`[${headers}]`);
  return new Map(places.split(",").map((place, i) => [place, read[i] ?? {}]));
}
