import { PgqueError, type OptionDifference } from "../errors/errors.ts";
import { boolean } from "../options/checks.ts";
import type { CallOptions, OptionTable, OptionsOf } from "../options/option.ts";

/** What `ensure` did. */
export interface Ensured {
  /** False: it was there, and was left as it is. */
  created: boolean;
  /** Of the options that were given by name: those that are others in the database. What is not given is not compared. */
  differences: OptionDifference[];
}

/** What `subscribe` did. */
export interface Subscribed extends Ensured {
  /**
   * How many messages that are kept lie before the place where a new consumer begins, when it begins with what is sent from now on: it never
   * receives them, unless `consumers.seek` places it anew. Counted to 10001, which is more than 10000.
   */
  skipped: number;
}

export const ensureOptions = {
  /** Fail with OPTIONS_DIFFER when the queue is there with other options than its definition names. Default: false. */
  strict: { check: boolean, default: false, help: "fail when the queue is there with other options" },
} satisfies OptionTable;

/** Options of `ensure`. */
export interface EnsureOptions extends OptionsOf<typeof ensureOptions>, CallOptions {}

/**
 * What was found of some options, or the error that says that they differ.
 *
 * @throws PgqueError OPTIONS_DIFFER, if `strict`
 */
export function differing(
  queue: string,
  consumer: string | undefined,
  differences: OptionDifference[],
  strict: boolean | undefined,
): OptionDifference[] {
  if (!strict || differences.length === 0) return differences;
  const what =
    consumer === undefined
      ? `queue ${JSON.stringify(queue)}`
      : `consumer ${JSON.stringify(consumer)} of queue ${JSON.stringify(queue)}`;
  throw new PgqueError("OPTIONS_DIFFER", `${what} is there with other options: ${sentence(differences)}`, {
    hint:
      consumer === undefined
        ? "Change the queue with `pgque.queues.change`, which can raise `partitions` and `priorities`, and change all else; or change the definition"
        : "Change the consumer with `pgque.consumers.change`, or give the options that it has",
    details: { queue, ...(consumer !== undefined && { consumer }), differences },
  });
}

function sentence(differences: readonly OptionDifference[]): string {
  return differences
    .map(
      ({ option, wanted, found }) =>
        `expected \`${option}\` to be ${JSON.stringify(wanted)}, found: ${found === null ? "none" : JSON.stringify(found)}`,
    )
    .join("; ");
}
