import type { Message } from "@pgque/client";
import type { BatchContext } from "./handler.ts";
import type { Handled, Middleware } from "./middleware.ts";

type Handle<Context> = (messages: readonly Message[], context: Context) => unknown;

/** A handler with middleware around it, the first outermost; itself when there is none. */
export function wrapped<Context extends BatchContext>(
  middleware: readonly Middleware[],
  handle: Handle<Context>,
): Handle<Context> {
  return middleware.reduceRight<Handle<Context>>(
    (inner, outer) => (messages, context) => around(outer, inner, messages, context),
    handle,
  );
}

/**
 * A call is over when both are, the middleware and what is inside it: its transaction, its place and its messages are not to be somebody else's
 * while the handler goes on. Nothing returned, by JavaScript that no type has told, is not to ack what nobody has handled.
 */
async function around<Context extends BatchContext>(
  outer: Middleware,
  inner: Handle<Context>,
  messages: readonly Message[],
  context: Context,
): Promise<unknown> {
  let inside: Promise<unknown> | undefined;
  let isOver = false;
  const next = (): Promise<Handled> => {
    const problem = isOver ? "before it returns, it did so later" : "once, it did so again";
    if (isOver || inside !== undefined) return refused(`expected middleware to call \`next()\` ${problem}`, context);
    inside = (async () => inner(messages, context))();
    // whoever does not wait for it does not hear of its failure, and nobody else may
    inside.catch(() => undefined);
    return inside as Promise<Handled>;
  };
  try {
    const said = await outer(messages, context, next);
    if (said !== undefined) return said;
    if (inside === undefined)
      throw new Error("expected middleware to call `next()` or to return an outcome, it did neither");
    return await inside;
  } finally {
    isOver = true;
    await inside?.catch(() => undefined);
  }
}

/** A rejection that is logged, for whoever does not wait for it. */
function refused(problem: string, { log }: BatchContext): Promise<never> {
  const error = new Error(problem);
  const rejected = Promise.reject(error);
  rejected.catch(() => log.error(problem, { error }));
  return rejected;
}
