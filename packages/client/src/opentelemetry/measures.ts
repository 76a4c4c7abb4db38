import { metrics, type Attributes, type Counter, type Histogram } from "@opentelemetry/api";
import { operationAttributes } from "./attributes.ts";

/** What the conventions recommend for durations in seconds. */
const durationBuckets = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];

/** A call of the client, or of a handler. */
export interface Measured {
  name: string;
  type: "send" | "receive" | "process" | "settle";
  queue: string | undefined;
  consumer?: string | undefined;
}

/** Says that a call is over: how many messages it sent or received, and the `error.type` of one that failed. Counts once. */
export type End = (error?: string, count?: number) => void;

interface Instruments {
  operation: Histogram;
  process: Histogram;
  sent: Counter;
  consumed: Counter;
}

/** The metrics of the semantic conventions for messaging, by way of the registered meter provider. */
export class Measures {
  readonly #common: Attributes;
  #instruments: Instruments | undefined;

  constructor(common: Attributes) {
    this.#common = common;
  }

  /** A call begins. */
  begin(call: Measured): End {
    const begunAtMs = performance.now();
    let isOver = false;
    return (error, count = 0) => {
      if (isOver) return;
      isOver = true;
      this.#record(call, (performance.now() - begunAtMs) / 1000, error, count);
    };
  }

  #record({ name, type, queue, consumer }: Measured, seconds: number, error: string | undefined, count: number): void {
    // made with the first call: a meter that is asked for before an SDK is registered stays without
    const { operation, process, sent, consumed } = (this.#instruments ??= instruments());
    const attributes: Attributes = { ...this.#common, ...operationAttributes(name, type, { queue, consumer }) };
    if (error !== undefined) attributes["error.type"] = error;
    (type === "process" ? process : operation).record(seconds, attributes);
    if (count > 0 && type === "send") sent.add(count, attributes);
    if (count > 0 && type === "receive") consumed.add(count, attributes);
  }
}

function instruments(): Instruments {
  const meter = metrics.getMeter("@pgque/client");
  const duration = { unit: "s", advice: { explicitBucketBoundaries: durationBuckets } };
  return {
    operation: meter.createHistogram("messaging.client.operation.duration", {
      ...duration,
      description: "Duration of messaging operation initiated by a producer or consumer client.",
    }),
    process: meter.createHistogram("messaging.process.duration", {
      ...duration,
      description: "Duration of processing operation.",
    }),
    sent: meter.createCounter("messaging.client.sent.messages", {
      unit: "{message}",
      description: "Number of messages producer attempted to send to the broker.",
    }),
    consumed: meter.createCounter("messaging.client.consumed.messages", {
      unit: "{message}",
      description: "Number of messages that were delivered to the application.",
    }),
  };
}
