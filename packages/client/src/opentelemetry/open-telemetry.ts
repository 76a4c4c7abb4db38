import {
  context,
  SpanKind,
  SpanStatusCode,
  trace,
  type Attributes,
  type Context,
  type Link,
  type Span,
  type Tracer,
} from "@opentelemetry/api";
import type { Address } from "../connection/address.ts";
import type {
  Headers,
  Message,
  SendOperation,
  Sent,
  SettleOperation,
  Source,
  Telemetry,
  TelemetryFactory,
} from "../types.ts";
import { errorMessage, oneOf } from "../options/checks.ts";
import { problemsOf, refuse, type OptionTable, type OptionsOf } from "../options/option.ts";
import { clientAttributes, operationAttributes } from "./attributes.ts";
import { contextOf, spanOf, withContext } from "./headers.ts";
import { Measures, type End } from "./measures.ts";

const telemetryOptions = {
  /**
   * What the span of a message that is processed is to the span that sent it. `child`: in the same trace, linked to the span that was
   * active. `link`: a child of the span that was active, or the root of a trace of its own, linked to the sender's: for messages that are
   * handled hours later, or by many consumers. Default: `child`.
   */
  process: {
    check: oneOf("child", "link"),
    default: "child",
    help: "what the span of a message that is processed is to the span that sent it",
  },
} satisfies OptionTable;

/** How messages and the traces of their senders belong together. */
export interface OpenTelemetryOptions extends OptionsOf<typeof telemetryOptions> {}

/**
 * Spans and metrics by the semantic conventions for messaging, and the sender's context in the headers of each message, by way of the
 * registered tracer and meter providers, context manager and propagator. Without an SDK there are none, and headers are left as they are.
 *
 * @throws PgqueError INVALID_OPTION
 * @example
 * const pgque = new Pgque(url, { telemetry: openTelemetry() });
 */
export function openTelemetry(options: OpenTelemetryOptions = {}): TelemetryFactory {
  refuse("openTelemetry", problemsOf(options, telemetryOptions));
  const { process = "child" } = options;
  return (database) => new OpenTelemetry(database, process);
}

class OpenTelemetry implements Telemetry {
  readonly #tracer: Tracer = trace.getTracer("@pgque/client");
  readonly #attributes: Attributes;
  readonly #measures: Measures;
  readonly #process: "child" | "link";

  constructor(database: Address, process: "child" | "link") {
    this.#attributes = clientAttributes(database);
    this.#measures = new Measures(this.#attributes);
    this.#process = process;
  }

  /** One span for the statement, whose context all its messages carry; a context of the sender's own is linked and left alone. */
  async send<Result extends Sent | Sent[]>(
    { queue, type, headers, count }: SendOperation,
    work: (headers: Headers | undefined) => Promise<Result>,
  ): Promise<Result> {
    const own = headers && spanOf(headers);
    const span = this.#tracer.startSpan(`send ${queue}`, {
      kind: own ? SpanKind.CLIENT : SpanKind.PRODUCER,
      attributes: {
        ...this.#attributes,
        ...operationAttributes("send", "send", { queue }),
        "messaging.batch.message_count": count,
        "pgque.message.type": type,
      },
      links: own ? [{ context: own }] : [],
    });
    const active = trace.setSpan(context.active(), span);
    const end = this.#measures.begin({ name: "send", type: "send", queue });
    // attempts count, failed ones too
    const ended: End = (error) => end(error, count ?? 1);
    return during(span, active, ended, async () => {
      const sent = await work(own ? headers : withContext(headers, active));
      if (!Array.isArray(sent)) span.setAttribute("messaging.message.id", sent.id);
      return sent;
    });
  }

  /**
   * Made when the messages are there, so that a sampler sees their links, and not at all when there are none: a worker that waits would
   * make one with every look.
   */
  async receive<Received extends Pick<Message, "id" | "headers">>(
    source: Source,
    work: () => Promise<Received[]>,
  ): Promise<Received[]> {
    const startTime = Date.now();
    const begun = performance.now();
    const end = (span: Span): void => span.end(startTime + performance.now() - begun);
    const ended = this.#measures.begin({ name: "receive", type: "receive", ...source });
    const start = (received: readonly Received[]): Span =>
      this.#tracer.startSpan(`receive ${source.queue}`, {
        kind: SpanKind.CLIENT,
        startTime,
        attributes: {
          ...this.#attributes,
          ...operationAttributes("receive", "receive", source),
          "messaging.batch.message_count": received.length,
        },
        links: linksOf(received),
      });
    try {
      const received = await work();
      ended(undefined, received.length);
      if (received.length > 0) end(start(received));
      return received;
    } catch (error) {
      ended(typeOf(error));
      const span = start([]);
      fail(span, error);
      end(span);
      throw error;
    }
  }

  /** The span of its send is a child, and so is the handler's, with `process: "child"`. */
  async call<Result>(source: Source, work: () => Promise<Result>): Promise<Result> {
    const ended = this.#measures.begin({ name: "call", type: "send", ...source });
    return this.#internal(`call ${source.queue}`, operationAttributes("call", "send", source), ended, work);
  }

  async step<Result>(source: Source, name: string, work: () => Promise<Result>): Promise<Result> {
    const attributes = {
      "messaging.destination.name": source.queue,
      "messaging.consumer.group.name": source.consumer,
      "pgque.step.name": name,
    };
    return this.#internal(`step ${name}`, attributes, () => undefined, work);
  }

  #internal<Result>(name: string, attributes: Attributes, ended: End, work: () => Promise<Result>): Promise<Result> {
    const span = this.#tracer.startSpan(name, { attributes: { ...this.#attributes, ...attributes } });
    return during(span, trace.setSpan(context.active(), span), ended, work);
  }

  async settle<Result>({ name, source, count }: SettleOperation, work: () => Promise<Result>): Promise<Result> {
    const span = this.#tracer.startSpan(source ? `${name} ${source.queue}` : name, {
      kind: SpanKind.CLIENT,
      attributes: {
        ...this.#attributes,
        ...operationAttributes(name, "settle", source ?? {}),
        "messaging.batch.message_count": count,
      },
    });
    const ended = this.#measures.begin({ name, type: "settle", queue: source?.queue, consumer: source?.consumer });
    return during(span, trace.setSpan(context.active(), span), ended, async () => {
      const done = await work();
      if (done === false) {
        failed(span, "LEASE_LOST", "the lease was lost, or the batch is finished");
        ended("LEASE_LOST");
      }
      return done;
    });
  }

  async process<Result>(
    queue: string,
    consumer: string,
    message: Pick<Message, "id" | "type" | "attempt" | "headers">,
    work: () => Result | Promise<Result>,
  ): Promise<Result> {
    const sender = spanOf(message.headers);
    const { parent, linked } = this.#process === "child" ? childOf(message) : besides(message);
    const attributes = {
      "messaging.message.id": message.id,
      "pgque.message.type": message.type,
      "pgque.message.attempt": message.attempt,
    };
    // without a sender's span there are not two to choose from
    const links = sender && linked ? [{ context: linked }] : [];
    return this.#processing({ queue, consumer }, attributes, links, parent, work);
  }

  /** In the active span, linked to that of each sender: messages of many traces cannot have one parent. */
  async processBatch<Result>(
    queue: string,
    consumer: string,
    messages: readonly Pick<Message, "id" | "headers">[],
    work: () => Result | Promise<Result>,
  ): Promise<Result> {
    const attributes = { "messaging.batch.message_count": messages.length };
    return this.#processing({ queue, consumer }, attributes, linksOf(messages), context.active(), work);
  }

  #processing<Result>(
    source: Source,
    attributes: Attributes,
    links: Link[],
    parent: Context,
    work: () => Result | Promise<Result>,
  ): Promise<Result> {
    const common = { ...this.#attributes, ...operationAttributes("process", "process", source) };
    const span = this.#tracer.startSpan(
      `process ${source.queue}`,
      { kind: SpanKind.CONSUMER, attributes: { ...common, ...attributes }, links },
      parent,
    );
    const ended = this.#measures.begin({ name: "process", type: "process", ...source });
    return during(span, trace.setSpan(parent, span), ended, async () => work());
  }
}

/** In the sender's context, linked to the active span. */
function childOf(message: Pick<Message, "headers">) {
  return { parent: contextOf(message), linked: trace.getSpanContext(context.active()) };
}

/** In the active span, with the sender's baggage, linked to the sender's span. */
function besides(message: Pick<Message, "headers">) {
  const carried = contextOf(message);
  const active = trace.getActiveSpan();
  return {
    parent: active ? trace.setSpan(carried, active) : trace.deleteSpan(carried),
    linked: spanOf(message.headers),
  };
}

/** To the span that sent each message. */
function linksOf(received: readonly Pick<Message, "id" | "headers">[]): Link[] {
  return received.flatMap(({ id, headers }) => {
    const sender = spanOf(headers);
    return sender ? [{ context: sender, attributes: { "messaging.message.id": id } }] : [];
  });
}

/** Runs `work` with the span active and ends it, with the error that there was. */
async function during<Result>(span: Span, active: Context, ended: End, work: () => Promise<Result>): Promise<Result> {
  try {
    const result = await context.with(active, work);
    ended();
    return result;
  } catch (error) {
    ended(typeOf(error));
    fail(span, error);
    throw error;
  } finally {
    span.end();
  }
}

function fail(span: Span, error: unknown): void {
  span.recordException(error instanceof Error ? error : String(error));
  failed(span, typeOf(error), errorMessage(error));
}

function failed(span: Span, type: string, message: string): void {
  span.setAttribute("error.type", type);
  span.setStatus({ code: SpanStatusCode.ERROR, message });
}

/** The code of an error, ours or the server's, or the name of its class. */
function typeOf(error: unknown): string {
  if (!(error instanceof Error)) return "_OTHER";
  return "code" in error && typeof error.code === "string" ? error.code : error.name;
}
