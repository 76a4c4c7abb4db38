import { context, propagation, SpanKind, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { CompositePropagator, W3CBaggagePropagator, W3CTraceContextPropagator } from "@opentelemetry/core";
import {
  InMemorySpanExporter,
  SimpleSpanProcessor,
  TracerProvider,
  type ReadableSpan,
  type Sampler,
} from "@opentelemetry/sdk-trace";

export const exporter = new InMemorySpanExporter();

/** Registers an SDK for the file, as an application does before it makes anything else. */
export function registerSdk(sampler?: Sampler): void {
  const spanProcessors = [new SimpleSpanProcessor({ exporter })];
  trace.setGlobalTracerProvider(new TracerProvider({ spanProcessors, ...(sampler && { sampler }) }));
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  propagation.setGlobalPropagator(
    new CompositePropagator({ propagators: [new W3CTraceContextPropagator(), new W3CBaggagePropagator()] }),
  );
}

/** The spans that have ended since the last look, in that order. */
export function takeSpans(): ReadableSpan[] {
  const spans = exporter.getFinishedSpans();
  exporter.reset();
  return spans;
}

/** The only span that has ended since the last look. */
export function takeSpan(): ReadableSpan {
  const [span, ...more] = takeSpans();
  if (span === undefined || more.length > 0) throw new Error(`expected one span, got ${more.length + (span ? 1 : 0)}`);
  return span;
}

/** What identifies a span, to compare it with parents and links. */
export const idOf = (span: ReadableSpan): string => span.spanContext().spanId;

/** The ids of the spans that it is linked to. */
export const linkedTo = (span: ReadableSpan): string[] => span.links.map((link) => link.context.spanId);

export const kindOf = (span: ReadableSpan): string | undefined => SpanKind[span.kind];
