import type { Address } from "../connection/address.ts";
import type { Headers, Message } from "../receive/message.ts";

/** What a statement sends. */
export interface SendOperation {
  queue: string;
  type: string;
  /** As the sender gave them. */
  headers: Headers | undefined;
  /** How many messages; undefined for the call that sends one. */
  count: number | undefined;
}

/** Whose messages are received. */
export interface Source {
  queue: string;
  consumer: string;
}

/** What is said of the messages of a batch. */
export interface SettleOperation {
  name: "ack" | "nack" | "snooze" | "bury" | "settle";
  /** Undefined when the batch is known by its id alone. */
  source: Source | undefined;
  /** How many messages were named; undefined: the whole batch. */
  count: number | undefined;
}

/**
 * Watches what a client does: each method runs `work` and gives back what comes of it, its error too. Without telemetry nobody calls
 * them. `openTelemetry()` of `@pgque/client/opentelemetry` makes one.
 */
export interface Telemetry {
  /** `work` is given the headers that the messages are to carry. */
  send<Result extends string | string[]>(
    operation: SendOperation,
    work: (headers: Headers | undefined) => Promise<Result>,
  ): Promise<Result>;
  /** `work` gives what was received, nothing being a good answer. */
  receive<Received extends Pick<Message, "id" | "headers">>(
    source: Source,
    work: () => Promise<Received[]>,
  ): Promise<Received[]>;
  /** `work` gives false when the lease was lost. */
  settle<Result>(operation: SettleOperation, work: () => Promise<Result>): Promise<Result>;
  /** `work` handles one received message. */
  process<Result>(
    queue: string,
    consumer: string,
    message: Pick<Message, "id" | "type" | "attempt" | "headers">,
    work: () => Result | Promise<Result>,
  ): Promise<Result>;
  /** `work` handles messages that were received together in one call. */
  processBatch<Result>(
    queue: string,
    consumer: string,
    messages: readonly Pick<Message, "id" | "headers">[],
    work: () => Result | Promise<Result>,
  ): Promise<Result>;
}

/** Makes the telemetry of one client. */
export type TelemetryFactory = (database: Address) => Telemetry;
