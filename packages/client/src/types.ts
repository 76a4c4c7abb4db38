import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { Address } from "./connection/address.ts";
import type { PgqueError } from "./errors/errors.ts";

/** Further data of a message, beside its payload: trace ids, tenants. A JSON object. */
export type Headers = Record<string, unknown>;

/** One received message. */
export interface Message<Payload = unknown, Type extends string = string> {
  /** A decimal string such as `"42"`, as `pg` gives them. Stays the same through all attempts. */
  readonly id: string;
  /** The batch that it came in: a decimal string. */
  readonly batchId: string;
  /** 1 the first time it is delivered. */
  readonly attempt: number;
  /** As given to `send`. Default: `default`. */
  readonly type: Type;
  /** The output of the queue's payload schema. */
  readonly payload: Payload;
  /** As given to `send`; `{}` when none were. */
  readonly headers: Headers;
  /** When it was first sent. */
  readonly createdAt: Date;
  /** On a queue with `priorities`; null on others. */
  readonly priority: number | null;
  /** As given to `send`; null when none was. */
  readonly key: string | null;
  /** How many processes have ended with it in hand, one of whose messages may be to blame, since its handler last came to an end. Usually 0. */
  readonly crashes: number;
}

/** A message whose payload does not fit the schema of its queue. It is in the batch, under lease, like the others. */
export interface InvalidMessage {
  /** Its payload is the JSON as it was found, or the text when that is not JSON. */
  readonly message: Message;
  /** PAYLOAD_INVALID or PAYLOAD_NOT_JSON. */
  readonly error: PgqueError;
}

/** What the payload of a message is: `input` as it is sent, `output` as it is received. They differ where a schema transforms. */
export interface PayloadTypes {
  input: unknown;
  output: unknown;
}

/** The types of message that a queue carries, by name. */
export type MessageTypes = Record<string, PayloadTypes>;

/** Messages that may be of any type and all have one kind of payload. */
export type AnyType<Input, Output = Input> = Record<string, { input: Input; output: Output }>;

/** A message as a queue of these types delivers it: a union to be told apart by `type` when the queue names its types. */
export type MessageOf<Types extends MessageTypes> = {
  [Type in keyof Types & string]: Message<Types[Type]["output"], Type>;
}[keyof Types & string];

/** Stands for a value that JSON cannot carry. */
interface NotJson {
  readonly "~notJson": never;
}

type JsonValue =
  | string
  | number
  | boolean
  | null
  | undefined
  | readonly JsonValue[]
  | { readonly [key: string]: JsonValue };

/** The type of a value after `JSON.parse(JSON.stringify(value))`: a Date becomes a string. */
export type JsonOf<T> = 0 extends 1 & T
  ? T
  : [T] extends [JsonValue]
    ? T
    : T extends { toJSON(key?: never): infer Json }
      ? JsonOf<Json>
      : T extends bigint | symbol | ((...args: never) => unknown)
        ? NotJson
        : T extends object
          ? { [Key in keyof T]: JsonOf<T[Key]> }
          : T;

/** Which form of a payload a queue stores. */
export type Store = "output" | "input";

/** The forms that can be stored with a schema: its output only where the JSON of it is valid input. */
export type StoreOf<Schema extends StandardSchemaV1> =
  JsonOf<StandardSchemaV1.InferOutput<Schema>> extends StandardSchemaV1.InferInput<Schema> ? Store : "input";

/** What became of a message that was sent. */
export interface Sent {
  /** A decimal string such as `"42"`; of a message that is deduplicated, that of the one which has its key. */
  readonly id: string;
  /**
   * Another message has its dedupe key, and this one was not sent. Also when the other is from an earlier try of the same call, whose answer was
   * lost with its connection. Always false without a dedupe key.
   */
  readonly deduplicated: boolean;
  /**
   * The id of the message that waited with its dedupe key: with `ifWaiting: "replace"` it is cancelled, with `"postpone"` it has been given the new `id`.
   * Absent: none waited.
   */
  readonly replaced?: string;
}

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
  send<Result extends Sent | Sent[]>(
    operation: SendOperation,
    work: (headers: Headers | undefined) => Promise<Result>,
  ): Promise<Result>;
  /** `work` gives what was received, nothing being a good answer. */
  receive<Received extends Pick<Message, "id" | "headers">>(
    source: Source,
    work: () => Promise<Received[]>,
  ): Promise<Received[]>;
  /** `work` sends a message and waits for its result. */
  call<Result>(source: Source, work: () => Promise<Result>): Promise<Result>;
  /** `work` is a step of the handler that runs, and is called because its result is not stored. */
  step<Result>(source: Source, name: string, work: () => Promise<Result>): Promise<Result>;
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
