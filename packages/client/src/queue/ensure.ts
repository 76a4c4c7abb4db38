import { changeableOptions, type SubscribeOptions } from "../admin/subscribe-options.ts";
import type { Connection } from "../connection/connection.ts";
import { optionDifferences } from "../queries/differences.ts";
import type { Queue } from "./define-queue.ts";
import { differing, type Ensured, type EnsureOptions, type Subscribed } from "./ensured.ts";
import { queueOptions, settingsOfNew } from "./queue-options.ts";
import { inSql } from "../options/option.ts";

/** @throws PgqueError OPTIONS_DIFFER */
export async function ensureQueue(
  db: Connection,
  { name, options }: Queue,
  { strict, signal }: EnsureOptions,
): Promise<Ensured> {
  const args = { queue: name, "options jsonb": JSON.stringify(inSql(settingsOfNew(options), queueOptions)) };
  const created = await db.flag("create_queue", args, { queue: name, idempotent: true, signal });
  if (created) return { created, differences: [] };
  const differences = await optionDifferences(db, name, null, options, inSql(options, queueOptions), signal);
  return { created, differences: differing(name, undefined, differences, strict) };
}

/** @throws PgqueError OPTIONS_DIFFER */
export async function ensureConsumer(
  db: Connection,
  queue: string,
  consumer: string,
  options: SubscribeOptions,
): Promise<Subscribed> {
  const { from, mode = "shared", strict, signal, ...changeable } = options;
  const words = inSql(changeable, changeableOptions);
  const named = { queue, consumer };
  const call = { ...named, idempotent: true, signal };
  const args = { ...named, "options jsonb": JSON.stringify({ from, mode, ...words }) };
  const created = await db.flag("subscribe", args, call);
  if (created) {
    const isFromNowOn = from === undefined || from === "latest";
    const skipped = isFromNowOn ? await db.count("skipped_messages", named, call) : 0;
    return { created, differences: [], skipped };
  }
  // one in another mode is an error already
  const differences = await optionDifferences(db, queue, consumer, changeable, words, signal);
  return { created, differences: differing(queue, consumer, differences, strict), skipped: 0 };
}
