import type { Message, PgqueError, Queue } from "@pgque/client";
import type { AnyHandler, BatchHandler, Handler, HandlerContext, TypeHandlers } from "./handler.ts";
import { issuesToLog } from "../fetch/payload-mask.ts";
import { wrapped } from "./wrapped.ts";
import type { ResolvedOptions } from "../resolve-options.ts";
import { deadLetter, done, type HandlerOutcome, outcomeOf, retry, type Outcome } from "./outcome.ts";
import { failed, retryAfterMs } from "./retry-policy.ts";

/** Which handler a message goes to, and what is handled together. */
export interface Route {
  /** One message; all of a receive together; all of a receive one after the other. */
  readonly unit: "message" | "batch" | "sequence";
  /** Of a sequence: whether what stands behind a message that is tried again waits for it. */
  readonly stopsAtFailure: boolean;
  handle(messages: readonly Message[], context: HandlerContext): unknown;
  /** Of a message that does not fit the queue's schema, or is of a type that the queue does not name. */
  outcomeOfInvalid(message: Message, error: PgqueError): Outcome;
}

export function routeOf(queue: Queue, handler: AnyHandler, options: ResolvedOptions): Route {
  const unknown = (message: Message): HandlerOutcome => unknownType(message, options);
  const handle = options.batch ? (handler as BatchHandler) : one(handler as Handler | TypeHandlers, unknown);
  return {
    unit: options.batch ? "batch" : options.mode === "ordered" ? "sequence" : "message",
    stopsAtFailure: options.onFailure !== "skip",
    handle: wrapped(options.middleware, handle),
    outcomeOfInvalid: (message, error) => {
      const isUnknown = queue.types !== undefined && !Object.hasOwn(queue.types, message.type);
      if (isUnknown) return outcomeOf(unknown(message), message, options.clock) ?? failed(message, error, options);
      options.watch.events.emit("invalid", () => ({ message, error }));
      const about = { code: error.code, issues: issuesToLog(message, error) };
      return failed(message, error, options, "payload does not fit the queue's schema", about);
    },
  };
}

function one(handler: Handler | TypeHandlers, unknown: (message: Message) => HandlerOutcome): Route["handle"] {
  return ([message], context) => {
    if (message === undefined) return undefined;
    if (typeof handler === "function") return handler(message, context);
    const ofType = Object.hasOwn(handler, message.type) ? handler[message.type] : undefined;
    return ofType === undefined ? unknown(message) : ofType(message, context);
  };
}

/** What the worker's policy says of a type that it has no handler for. */
function unknownType(message: Message, options: ResolvedOptions): HandlerOutcome {
  const reason = `no handler for messages of type ${JSON.stringify(message.type)}`;
  const { log, watch } = options;
  log.warn(reason, { message: message.id, attempt: message.attempt, unknownType: options.unknownType });
  watch.events.emit("unknownType", () => ({ message }));
  if (options.unknownType === "ack") return done();
  if (options.unknownType === "deadLetter") return deadLetter(reason);
  return retry({ afterMs: retryAfterMs(message, new Error(reason), options) }, reason);
}
