import type { StandardSchemaV1 } from "@standard-schema/spec";
import { field } from "../options/field.ts";
import { object, check, name as queueName, oneOf, show, standardSchema, text } from "../options/checks.ts";
import { problemsOf, refuse } from "../options/option.ts";
import type { AnyType, MessageTypes, Store, StoreOf } from "../types.ts";
import { queueDefaults, type QueueDefaults } from "./queue-defaults.ts";
import { queueOptions, type QueueOptions } from "./queue-options.ts";

type Schema = StandardSchemaV1;
type Schemas = Record<string, Schema>;

/** What a queue is: its settings, and the schema of its payloads or of each type. */
export interface QueueDefinition<
  Payload = unknown,
  Of extends Schema | undefined = Schema | undefined,
  ByType extends Schemas | undefined = Schemas | undefined,
> extends QueueOptions {
  /**
   * What a payload looks like, for a queue whose messages are of one kind: any Standard Schema (zod, valibot, arktype, …). Payloads are checked
   * when they are sent and again when they are received, as the JSON that they are then: a date is a string. `store` says which form is stored.
   * Not together with `types`. Default: any JSON, typed `unknown`.
   */
  payload?: Of;
  /** The schema of each type's payload. A send then names its `type`; a received message is told apart by it. Default: types have no meaning. */
  types?: ByType;
  /** What a send does unless it says otherwise. */
  defaults?: QueueDefaults<InputOf<Payload, Of, ByType>, TypeOf<ByType>> | undefined;
  /**
   * Which form of a payload is stored. `output`: the JSON of the schema's output, so that unknown keys are gone and defaults are the same on every
   * attempt; the schema has to read that JSON and give the same output. `input`: the JSON of what was sent. Either is parsed again when it is
   * received. Default: `output`; the compiler asks for `input` where the output's JSON is not valid input.
   */
  store?: Store | undefined;
}

/** What a send is given. */
type InputOf<Payload, Of, ByType> = Of extends Schema
  ? StandardSchemaV1.InferInput<Of>
  : ByType extends Schemas
    ? StandardSchemaV1.InferInput<ByType[keyof ByType]>
    : Payload;

type TypeOf<ByType> = ByType extends Schemas ? keyof ByType & string : string;

/** The types of a queue that is defined with these. */
type TypesDefined<Payload, Of, ByType> = Of extends Schema
  ? AnyType<StandardSchemaV1.InferInput<Of>, StandardSchemaV1.InferOutput<Of>>
  : ByType extends Schemas
    ? TypesOf<ByType>
    : AnyType<Payload>;

/** What options have to be beside one another: `payload` alone, and `store` where it cannot be the default. */
type Together<Of, ByType> = Of extends Schema
  ? { types?: undefined } & StoreAmong<StoreOf<Of>>
  : ByType extends Schemas
    ? StoreAmong<CommonStore<ByType>>
    : { store?: undefined };
type StoreAmong<Allowed extends Store> = "output" extends Allowed ? unknown : { store: "input" };

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
type CommonStore<ByType extends Schemas> = {
  [Type in keyof ByType]: "output" extends StoreOf<ByType[Type]> ? never : Type;
}[keyof ByType] extends never
  ? Store
  : "input";

/** The types of a queue that was defined with `types`. */
export type TypesOf<ByType extends Schemas> = {
  [Type in keyof ByType & string]: {
    input: StandardSchemaV1.InferInput<ByType[Type]>;
    output: StandardSchemaV1.InferOutput<ByType[Type]>;
  };
};

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
export function defineQueue<
  Payload = unknown,
  Of extends Schema | undefined = undefined,
  ByType extends Schemas | undefined = undefined,
>(
  name: string,
  definition: QueueDefinition<Payload, Of, ByType> & Together<Of, ByType> = {} as never,
): Queue<TypesDefined<Payload, Of, ByType>> {
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
  }) as Queue as Queue<TypesDefined<Payload, Of, ByType>>;
}

/** A queue as it is given to a call: a value of `defineQueue`, or a name for one without schemas. */
export type QueueRef<Types extends MessageTypes = MessageTypes> = Queue<Types> | string;

/**
 * The queue that a call was given: itself, or one without schemas for a name. For what takes a queue as the client does.
 *
 * @param where the call, for its error
 * @throws PgqueError INVALID_OPTION when it is neither
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
