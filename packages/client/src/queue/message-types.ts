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
