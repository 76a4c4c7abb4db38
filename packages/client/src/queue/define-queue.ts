import type { StandardSchemaV1 } from "@standard-schema/spec";
import { field } from "../options/field.ts";
import { object, check, expecting, name as queueName, oneOf, show, text } from "../options/checks.ts";
import { problemsOf, refuse } from "../options/option.ts";
import type { AnyType, MessageTypes, Store, StoreOf } from "../types.ts";
import { queueDefaults, type QueueDefaults } from "./queue-defaults.ts";
import { queueOptions, type QueueOptions } from "./queue-options.ts";

/** A queue without schemas: any JSON, of whatever type it is said to have. */
export interface UntypedQueueDefinition<Payload = unknown> extends QueueOptions {
  payload?: undefined;
  types?: undefined;
  store?: undefined;
  /** What a send does unless it says otherwise. */
  defaults?: QueueDefaults<Payload> | undefined;
}

/**
 * Which form of a payload is stored. `output`: the JSON of the schema's output, so that unknown keys are gone and defaults are the same on every
 * attempt; the schema has to read that JSON and give the same output. `input`: the JSON of what was sent. Either is parsed again when it is
 * received. Default: `output`; the compiler asks for `input` where the output's JSON is not valid input.
 */
type StoreOption<Allowed extends Store> = "output" extends Allowed ? { store?: Store | undefined } : { store: "input" };

/** A queue whose messages all have one kind of payload. */
export interface QueueDefinition<Schema extends StandardSchemaV1> extends QueueOptions {
  /**
   * What a payload looks like: any Standard Schema (zod, valibot, arktype, …). Payloads are checked when they are sent and again
   * when they are received, as the JSON that they are then: a date is a string. `store` says which form is stored. Default: any JSON, typed `unknown`.
   */
  payload: Schema;
  types?: undefined;
  /** What a send does unless it says otherwise. */
  defaults?: QueueDefaults<StandardSchemaV1.InferInput<Schema>> | undefined;
}

/** A queue that carries several types of message. */
export interface TypedQueueDefinition<Schemas extends Record<string, StandardSchemaV1>> extends QueueOptions {
  /** The schema of each type's payload. A send then names its `type`; a received message is told apart by it. */
  types: Schemas;
  payload?: undefined;
  /** What a send does unless it says otherwise. */
  defaults?: QueueDefaults<StandardSchemaV1.InferInput<Schemas[keyof Schemas]>, keyof Schemas & string> | undefined;
}

/** A queue as the application knows it: its name, settings and types. Makes no connection and creates nothing. */
export interface Queue<Types extends MessageTypes = MessageTypes> {
  readonly name: string;
  readonly options: Readonly<QueueOptions>;
  readonly defaults: Readonly<QueueDefaults>;
  /** The schema of every payload, for a queue whose messages are of one kind. */
  readonly payload: StandardSchemaV1 | undefined;
  /** The schema of each type, for a queue that names its types. */
  readonly types: Readonly<Record<string, StandardSchemaV1>> | undefined;
  /** Which form of a payload is stored. */
  readonly store: Store;
  /** Only for the compiler: never there. */
  readonly "~types"?: Types;
}

/** The forms that can be stored with every one of some schemas. */
type CommonStore<Schemas extends Record<string, StandardSchemaV1>> = {
  [Type in keyof Schemas]: "output" extends StoreOf<Schemas[Type]> ? never : Type;
}[keyof Schemas] extends never
  ? Store
  : "input";

/** The types of a queue that was defined with `types`. */
export type TypesOf<Schemas extends Record<string, StandardSchemaV1>> = {
  [Type in keyof Schemas & string]: {
    input: StandardSchemaV1.InferInput<Schemas[Type]>;
    output: StandardSchemaV1.InferOutput<Schemas[Type]>;
  };
};

const standardSchema = expecting("a Standard Schema (zod, valibot, arktype, …)", isStandardSchema);

const schemasByType = check((name, value) => {
  const problem = object(name, value);
  if (problem !== undefined) return problem;
  const schemas = Object.entries(Object(value));
  if (schemas.length === 0) return `expected \`${name}\` to name at least one type, got: {}`;
  const problems = schemas.flatMap(([type, schema]) => [text(`type`, type), standardSchema(`${name}.${type}`, schema)]);
  return problems.filter((found) => found !== undefined).join("; ") || undefined;
});

const checks = {
  payload: standardSchema,
  types: schemasByType,
  store: oneOf("output", "input"),
  ...queueOptions,
  defaults: queueDefaults,
};

/**
 * Describes a queue, once, for senders and receivers. What is sent is the schema's input, what is received its output.
 *
 * @param name any Unicode, 1 to 57 bytes of UTF-8
 * @throws PgqueError INVALID_OPTION naming everything that is wrong
 * @example
 * const orders = defineQueue("orders", { payload: z.object({ orderId: z.number().int() }) });
 * const events = defineQueue("events", { types: { created: Created, paid: Paid } });
 * const notes = defineQueue<{ text: string }>("notes"); // typed, and checked by nobody
 */
export function defineQueue<Schemas extends Record<string, StandardSchemaV1>>(
  name: string,
  definition: TypedQueueDefinition<Schemas> & StoreOption<CommonStore<Schemas>>,
): Queue<TypesOf<Schemas>>;
export function defineQueue<Schema extends StandardSchemaV1>(
  name: string,
  definition: QueueDefinition<Schema> & StoreOption<StoreOf<Schema>>,
): Queue<AnyType<StandardSchemaV1.InferInput<Schema>, StandardSchemaV1.InferOutput<Schema>>>;
export function defineQueue<Payload = unknown>(
  name: string,
  definition?: UntypedQueueDefinition<Payload>,
): Queue<AnyType<Payload>>;
export function defineQueue(
  name: string,
  definition:
    | UntypedQueueDefinition
    | ((QueueDefinition<StandardSchemaV1> | TypedQueueDefinition<Record<string, StandardSchemaV1>>) & {
        store?: Store | undefined;
      }) = {},
): Queue {
  refuse(`defineQueue(${show(name)})`, [
    queueName("name", name),
    ...problemsOf(definition, checks),
    definition?.payload !== undefined && definition.types !== undefined
      ? "expected `payload` or `types`, got both"
      : undefined,
  ]);
  const { payload, types, store = "output", defaults = {}, ...options } = definition;
  return Object.freeze({
    name,
    options: Object.freeze(options),
    defaults: Object.freeze({ ...defaults }),
    payload,
    types: types && Object.freeze({ ...types }),
    store,
  });
}

/** A queue as it is given to a call: a value of `defineQueue`, or a name for one without schemas. */
export type QueueRef<Types extends MessageTypes = MessageTypes> = Queue<Types> | string;

/**
 * The queue that a call was given.
 *
 * @throws PgqueError INVALID_OPTION
 */
export function queueOf(where: string, queue: QueueRef): Queue {
  if (typeof queue === "string") return defineQueue(queue);
  refuse(where, [
    typeof field(queue, "name") === "string" &&
    ["options", "defaults"].every((of) => object(of, field(queue, of)) === undefined)
      ? undefined
      : `expected \`queue\` to be a value of defineQueue, or the name of a queue, got: ${show(queue)}`,
  ]);
  return queue;
}

function isStandardSchema(value: unknown): boolean {
  const standard = field(value, "~standard");
  return field(standard, "version") === 1 && typeof field(standard, "validate") === "function";
}
