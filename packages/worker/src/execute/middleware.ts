import type { Message } from "@pgque/client";
import type { BatchContext } from "./handler.ts";
import type { HandlerOutcome } from "./outcome.ts";

/** What a handler came to, on its way through middleware. */
declare const handled: unique symbol;

/** The value that a handler returned, whatever it is: to be returned as it is. */
export interface Handled {
  readonly [handled]: true;
}

/** What middleware says became of the call: what came from inside, one outcome, or for a batch one for each message. */
export type MiddlewareResult = Handled | HandlerOutcome | readonly (HandlerOutcome | undefined)[];

/**
 * Runs around each call of a handler, whichever handler it is, inside its transaction and its span. `messages` is the one message, or those
 * of the batch. `next()` runs the next middleware and at last the handler, once: it gives what that returned, and throws what it threw.
 * What the middleware returns or throws counts as if the handler had: return what `next()` gave, or what `done`, `retry`, `snooze`
 * or `deadLetter` give. The call is over when the handler is, too, whether the middleware waits for it or not; one that neither calls `next()`
 * nor returns an outcome has failed.
 *
 * @example
 * const timed: Middleware = async (messages, { log }, next) => {
 *   const begun = performance.now();
 *   try {
 *     return await next();
 *   } finally {
 *     log.info("handled", { count: messages.length, ms: performance.now() - begun });
 *   }
 * };
 */
export type Middleware<Received extends Message = Message> = (
  messages: readonly Received[],
  context: BatchContext,
  next: () => Promise<Handled>,
) => MiddlewareResult | Promise<MiddlewareResult>;
