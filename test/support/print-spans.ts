import { context, propagation, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";

// Imported before an application: registers an SDK and prints, when the process ends, the spans that it made.

const exporter = new InMemorySpanExporter();
trace.setGlobalTracerProvider(new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] }));
context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
propagation.setGlobalPropagator(new W3CTraceContextPropagator());

process.on("exit", () => {
  const spans = exporter.getFinishedSpans();
  const named = (id: string | undefined) => spans.find((span) => span.spanContext().spanId === id)?.name;
  for (const span of spans) {
    const parent = named(span.parentSpanContext?.spanId);
    const linked = span.links.map((link) => named(link.context.spanId));
    const relations = [parent && ` in ${parent}`, ...linked.map((name) => ` linked to ${name}`)];
    process.stdout.write(`${span.name}${relations.filter(Boolean).join("")}\n`);
  }
});
