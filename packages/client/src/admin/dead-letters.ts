import type { Connection } from "../connection/connection.ts";
import * as queries from "../queries/dead-letters.ts";
import { queueOf, type QueueRef } from "../queue/define-queue.ts";
import { callProblems, completed, refuse } from "../options/option.ts";
import {
  listOptions,
  purgeOptions,
  redriveOptions,
  scopeProblem,
  type DeadLetter,
  type ListDeadLettersOptions,
  type PurgeDeadLettersOptions,
  type RedriveOptions,
} from "./dead-letter-options.ts";

/** The messages of a queue whose attempts were used up, or that were buried: kept until somebody decides. */
export class DeadLetters {
  readonly #db: Connection;

  constructor(db: Connection) {
    this.#db = db;
  }

  /**
   * Dead letters, the newest first. The role needs `<schema>_viewer`.
   *
   * @example
   * let page = await pgque.deadLetters.list(orders, { reasonLike: "%timeout%" });
   * page = await pgque.deadLetters.list(orders, { reasonLike: "%timeout%", beforeId: page.at(-1)?.id });
   */
  async list(queue: QueueRef, options: ListDeadLettersOptions = {}): Promise<DeadLetter[]> {
    refuse("deadLetters.list", callProblems(options, listOptions));
    return queries.listDeadLetters(this.#db, queueOf("deadLetters.list", queue).name, options);
  }

  /**
   * Sends dead letters again, each to the consumer that it died for, from its first attempt. Those that the filter names, or
   * `all`. Those of consumers that are gone stay. The role needs `<schema>_admin`.
   *
   * @returns how many
   * @example
   * await pgque.deadLetters.redrive(orders, { consumer: "default", reasonLike: "%timeout%" });
   */
  async redrive(queue: QueueRef, options: RedriveOptions): Promise<number> {
    refuse("deadLetters.redrive", [...callProblems(options, redriveOptions), scopeProblem(options)]);
    const given = completed(options, redriveOptions);
    return queries.settleDeadLetters(this.#db, "redrive", queueOf("deadLetters.redrive", queue).name, given);
  }

  /**
   * Throws dead letters away: those that the filter names, or `all`. The role needs `<schema>_admin`.
   *
   * @returns how many
   * @example
   * await pgque.deadLetters.purge(orders, { diedBefore: new Date(Date.now() - 30 * 86_400_000) });
   */
  async purge(queue: QueueRef, options: PurgeDeadLettersOptions): Promise<number> {
    refuse("deadLetters.purge", [...callProblems(options, purgeOptions), scopeProblem(options)]);
    return queries.settleDeadLetters(this.#db, "purge_dead_letters", queueOf("deadLetters.purge", queue).name, options);
  }
}
