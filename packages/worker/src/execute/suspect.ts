import type { Message } from "@pgque/client";
import type { OpenBatch } from "../settle/open-batch.ts";
import type { Outcome } from "./outcome.ts";
import { patienceMs, quarantine } from "./quarantine.ts";
import type { Settler } from "../settle/settler.ts";

/**
 * Calls the handler of a suspect, alone in the process as far as that is possible, and has the database know before that it begins and after what came
 * of it. Undefined: it was not called, because its lease is lost or nothing is to begin any more. Never rejects, unless `call` does.
 */
export async function handleSuspect(
  settler: Settler,
  batch: OpenBatch,
  message: Message,
  noMore: AbortSignal,
  call: () => Promise<Outcome | undefined>,
): Promise<Outcome | undefined> {
  const stay = await quarantine.enter(patienceMs(message), noMore);
  if (stay === undefined) return undefined;
  try {
    if (!(await settler.reportStarted(batch, message, stay.alone)) || noMore.aborted) return undefined;
    let told: Promise<unknown> = Promise.resolve();
    const beside = setTimeout(() => {
      if (stay.alone) told = settler.reportStarted(batch, message, false).then(() => stay.end());
    }, patienceMs(message));
    const outcome = await call();
    clearTimeout(beside);
    await told;
    // until then its end would be taken for one of the process
    if (!(await settler.say(batch, message))) await settler.reportStarted(batch, message, false);
    return outcome;
  } finally {
    stay.end();
  }
}

/** Whether a message came back from a lost lease. */
export function isSuspect({ crashes }: Message): boolean {
  return crashes > 0;
}
