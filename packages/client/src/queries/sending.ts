import type { Connection } from "../connection/connection.ts";
import type { Sent } from "../types.ts";
import { called, jsonTexts } from "./values.ts";

/** `payload` and `options`: JSON texts. `keyed`: with a dedupe key. `idempotent`: a second one would send nothing. */
export async function send(
  db: Connection,
  message: {
    queue: string;
    type: string;
    payload: string;
    options: string | null;
    keyed: boolean;
    idempotent: boolean;
  },
  signal?: AbortSignal,
): Promise<Sent> {
  const { queue, type, payload, options, keyed, idempotent } = message;
  const args = { queue_name: queue, type_name: type, "payload text": payload, "options jsonb": options };
  const call = { queue, idempotent, signal };
  return keyed
    ? sentOf(await db.value("send_deduplicated", args, call))
    : { id: String(await db.value("send", args, call)), deduplicated: false };
}

/** In the order of the payloads. `headers` and `options`: one JSON text for all of them. */
export async function sendBatch(
  db: Connection,
  batch: {
    queue: string;
    type: string;
    payloads: readonly string[];
    headers: string | null;
    options: string | null;
    keyed: boolean;
    idempotent: boolean;
  },
  signal?: AbortSignal,
): Promise<Sent[]> {
  const { queue, type, payloads, headers, options, keyed, idempotent } = batch;
  const args = {
    queue_name: queue,
    type_name: type,
    "payloads text[]": jsonTexts(payloads),
    "headers jsonb[]": headers === null ? null : jsonTexts(payloads.map(() => headers)),
    "options jsonb": options,
  };
  const call = { queue, idempotent, signal };
  if (keyed) {
    const [text, values] = called("send_batch_deduplicated", args);
    const rows = await db.rows((schema) => `select ${text(schema)}::text as value`, values, call);
    return rows.map((row) => sentOf(Object.values(row)[0]));
  }
  const ids = String(await db.value("send_batch", args, call));
  return ids
    .slice(1, -1)
    .split(",")
    .map((id) => ({ id, deduplicated: false }));
}

/** A row of type `sent` as text: `(42,f,)`. */
function sentOf(text: unknown): Sent {
  const [id = "", deduplicated, replaced] = String(text).slice(1, -1).split(",");
  return { id, deduplicated: deduplicated === "t", ...(replaced ? { replaced } : {}) };
}
