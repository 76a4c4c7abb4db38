import type { FoundMessage, MessageResult, Pgque, ReportedProgress, StoredStep } from "@pgque/client";
import { limited } from "../actions/action.ts";

/** What a consumer's handlers have kept of a message. */
export interface Reports {
  consumer: string;
  /** What came of it, if its sender has asked for that to be kept. */
  result: MessageResult | undefined;
  steps: StoredStep[];
  progress: ReportedProgress[];
}

/** Of each consumer that has something: the result, stored steps, progress and log lines. */
export async function readReports(
  pgque: Pgque,
  queue: string,
  id: string,
  found: readonly FoundMessage[],
): Promise<Reports[]> {
  const consumers = new Set(found.flatMap(({ consumer }) => consumer ?? []));
  const all = await Promise.all(
    Array.from(consumers, async (consumer) => {
      const options = { consumer, ...limited() };
      const [result, steps, progress] = await Promise.all([
        pgque.result(queue, id, options),
        pgque.messages.steps(queue, id, options),
        pgque.messages.progress(queue, id, options),
      ]);
      return { consumer, result, steps, progress };
    }),
  );
  return all.filter(({ result, steps, progress }) => result !== undefined || steps.length + progress.length > 0);
}
