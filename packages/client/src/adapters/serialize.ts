import { addressOf } from "../connection/address.ts";
import { PgqueError } from "../errors/errors.ts";
import { show } from "../options/checks.ts";
import type { Queryable, Statement } from "../connection/queryable.ts";

/** One that may have to wait for its turn, and is not sent when it was aborted meanwhile. */
export interface WaitingStatement extends Statement {
  signal?: AbortSignal;
}

/**
 * One statement at a time: a transaction has one connection, and drivers that queue for it warn about it (`pg` 8) or mean to refuse it
 * (`pg` 9). `handle`: what the caller gave, asked for its address.
 */
export function serialize(queryable: Queryable, handle: object): Queryable {
  let last: Promise<unknown> = Promise.resolve();
  return {
    ...addressOf(handle as Queryable),
    query({ signal, ...statement }: WaitingStatement) {
      const begun = last.then(() => {
        signal?.throwIfAborted();
        return queryable.query(statement);
      });
      const result = begun.then(checked);
      last = result.catch(() => undefined);
      return result;
    },
  };
}

/** Other libraries have a `query` too, that answers otherwise. */
function checked(result: Awaited<ReturnType<Queryable["query"]>>): Awaited<ReturnType<Queryable["query"]>> {
  if (Array.isArray(result?.rows)) return result;
  throw new PgqueError(
    "INVALID_OPTION",
    `inTransaction: expected \`query\` to answer with { rows }, got: ${show(result)}`,
    {
      hint: "Give it an object whose `query({ text, values })` calls the library's own",
    },
  );
}
