import { context, propagation, ROOT_CONTEXT, trace, type Context, type SpanContext } from "@opentelemetry/api";
import type { Headers, Message } from "../types.ts";

/** Reads headers, which are any JSON; a context is made of strings. */
const getter = {
  get: (headers: Headers, name: string) => (typeof headers[name] === "string" ? headers[name] : undefined),
  keys: (headers: Headers) => Object.keys(headers),
};

/**
 * The active context with what a message carries in its headers: the sender's span and baggage. Without any it is the active context.
 *
 * @example
 * const [message] = batch.messages;
 * if (message) await context.with(contextOf(message), () => charge(message.payload.orderId));
 */
export function contextOf(message: Pick<Message, "headers">): Context {
  return propagation.extract(context.active(), message.headers, getter);
}

/** The span that headers name, if they do. */
export function spanOf(headers: Headers): SpanContext | undefined {
  const found = trace.getSpanContext(propagation.extract(ROOT_CONTEXT, headers, getter));
  return found && trace.isSpanContextValid(found) ? found : undefined;
}

/** Headers that carry a context too. Those of the same name that were given win; with nothing to carry they are the ones given. */
export function withContext(headers: Headers | undefined, carried: Context): Headers | undefined {
  const injected: Record<string, string> = {};
  propagation.inject(carried, injected);
  return Object.keys(injected).length === 0 ? headers : { ...injected, ...headers };
}
