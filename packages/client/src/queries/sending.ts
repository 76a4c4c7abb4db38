import type { Connection } from "../connection/connection.ts";
import { jsonTexts } from "./values.ts";

// Typed calls of the SQL functions that send. Named notation, so that the functions may gain arguments. Each text is constant for a schema,
// so that it can be prepared.

/** `payload` and `options`: JSON texts. `idempotent`: a second one would send nothing. */
export async function send(
  db: Connection,
  message: { queue: string; type: string; payload: string; options: string | null; idempotent: boolean },
  signal?: AbortSignal,
): Promise<string> {
  const { queue, type, payload, options, idempotent } = message;
  const id = await db.value(
    (s) =>
      `select ${s}.send(queue_name => $1, type_name => $2, payload => $3::text, options => $4::text::jsonb)::text as value`,
    [queue, type, payload, options],
    { queue, idempotent, signal },
  );
  return String(id);
}

/** Ids in the order of the payloads. `headers` and `options`: one JSON text for all of them. */
export async function sendBatch(
  db: Connection,
  batch: {
    queue: string;
    type: string;
    payloads: readonly string[];
    headers: string | null;
    options: string | null;
    idempotent: boolean;
  },
  signal?: AbortSignal,
): Promise<string[]> {
  const { queue, type, payloads, headers, options, idempotent } = batch;
  const ids = await db.value(
    (s) =>
      `select array_to_string(${s}.send_batch(queue_name => $1, type_name => $2, payloads => $3::text::text[], headers => $4::text::jsonb[], options => $5::text::jsonb), ',') as value`,
    [queue, type, jsonTexts(payloads), headers === null ? null : jsonTexts(payloads.map(() => headers)), options],
    { queue, idempotent, signal },
  );
  return String(ids).split(",");
}
