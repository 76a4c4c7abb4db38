import type { Connection } from "../connection/connection.ts";
import { jsonTexts } from "./values.ts";

/** `payload` and `options`: JSON texts. `idempotent`: a second one would send nothing. */
export async function send(
  db: Connection,
  message: { queue: string; type: string; payload: string; options: string | null; idempotent: boolean },
  signal?: AbortSignal,
): Promise<string> {
  const { queue, type, payload, options, idempotent } = message;
  const args = { queue_name: queue, type_name: type, "payload text": payload, "options jsonb": options };
  return String(await db.value("send", args, { queue, idempotent, signal }));
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
  const args = {
    queue_name: queue,
    type_name: type,
    "payloads text[]": jsonTexts(payloads),
    "headers jsonb[]": headers === null ? null : jsonTexts(payloads.map(() => headers)),
    "options jsonb": options,
  };
  const ids = await db.value("send_batch", args, { queue, idempotent, signal });
  return String(ids).slice(1, -1).split(",");
}
