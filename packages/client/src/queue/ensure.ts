import { changeableOptions, type SubscribeOptions } from "../admin/subscribe-options.ts";
import type { Connection } from "../connection/connection.ts";
import * as consumers from "../queries/consumers.ts";
import { optionDifferences } from "../queries/differences.ts";
import { createQueue } from "../queries/queues.ts";
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
  const created = await createQueue(db, name, inSql(settingsOfNew(options), queueOptions), signal);
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
  const created = await consumers.subscribe(db, queue, consumer, { from, mode, ...words }, signal);
  if (created) {
    const isFromNowOn = from === undefined || from === "latest";
    const skipped = isFromNowOn ? await consumers.skippedMessages(db, queue, consumer, signal) : 0;
    return { created, differences: [], skipped };
  }
  // one in another mode is an error already
  const differences = await optionDifferences(db, queue, consumer, changeable, words, signal);
  return { created, differences: differing(queue, consumer, differences, strict), skipped: 0 };
}
