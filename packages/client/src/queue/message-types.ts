import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { Message } from "../receive/message.ts";

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
