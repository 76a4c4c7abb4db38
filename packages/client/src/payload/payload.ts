import type { StandardSchemaV1 } from "@standard-schema/spec";
import { PgqueError, type PayloadIssue } from "../errors/errors.ts";
import { pathOf, NotJson, toJson } from "./json.ts";
import type { Queue } from "../queue/define-queue.ts";
import { outputJson } from "./output-json.ts";
import { validate, validateInTime } from "./validate.ts";
import { errorMessage, show } from "../options/checks.ts";

/**
 * The JSON texts to store for payloads, checked. The schema sees the JSON, not the value that was given: a payload that a receiver could not
 * read is refused here and never gets into the queue.
 *
 * @param first where the first payload is among others, for the paths in errors; undefined for a single one
 * @throws PgqueError PAYLOAD_NOT_JSON; PAYLOAD_INVALID, PAYLOAD_NOT_REPARSABLE with all issues of all payloads
 */
export async function encodePayloads(
  queue: Queue,
  type: string,
  payloads: readonly unknown[],
  first?: number,
): Promise<string[]> {
  const schema = schemaOf(queue, type);
  const texts: string[] = [];
  const invalid: PayloadIssue[] = [];
  const notReparsable: PayloadIssue[] = [];
  for (const [index, payload] of payloads.entries()) {
    const at = first === undefined ? [] : [first + index];
    const json = encodeJson(queue.name, "payload", payload, at);
    if (!schema) {
      texts.push(json);
      continue;
    }
    const result = await validate(schema, JSON.parse(json), at);
    if ("issues" in result) {
      for (const issue of result.issues) invalid.push(issue);
    } else if (queue.store === "input") {
      texts.push(json);
    } else {
      const stored = await outputJson(schema, json, result.value, at);
      if ("json" in stored) texts.push(stored.json);
      else for (const issue of stored.issues) notReparsable.push(issue);
    }
  }
  const { name } = queue;
  if (invalid.length > 0)
    throw payloadInvalid(name, invalid, "Nothing was sent: fix the payload, or the schema given to defineQueue");
  if (notReparsable.length > 0) {
    throw new PgqueError(
      "PAYLOAD_NOT_REPARSABLE",
      `expected the schema of queue ${JSON.stringify(name)} to read its own output and give it back, got: ${shown(notReparsable)}`,
      { hint: notReparsableHint, details: { queue: name, issues: notReparsable } },
    );
  }
  return texts;
}

const notReparsableHint =
  'Nothing was sent: give defineQueue `store: "input"`, which stores payloads as they were given, or a schema that reads its output';

/** The schema of one type of message. Undefined when the queue has none, or does not know the type: see `typeProblem`. */
function schemaOf(queue: Queue, type: string): StandardSchemaV1 | undefined {
  if (queue.types === undefined) return queue.payload;
  return Object.hasOwn(queue.types, type) ? queue.types[type] : undefined;
}

/** What is wrong with the type of a message for a queue that names its types. */
export function typeProblem(queue: Queue, type: string | undefined): string | undefined {
  if (queue.types === undefined || (type !== undefined && Object.hasOwn(queue.types, type))) return undefined;
  const known = Object.keys(queue.types).map((name) => JSON.stringify(name));
  return `expected \`type\` to be one of queue ${JSON.stringify(queue.name)}, ${known.join(" or ")}, got: ${show(type)}`;
}

/** The JSON text of one value, or the error that says what in it is not JSON. */
export function encodeJson(
  queue: string,
  what: "payload" | "headers",
  value: unknown,
  at: readonly PropertyKey[] = [],
): string {
  try {
    return toJson(value);
  } catch (cause) {
    // what is not a NotJson comes from a getter or a toJSON of the application, or is nested too deep
    const path = pathOf([...at, ...(cause instanceof NotJson ? cause.path : [])]);
    const message = errorMessage(cause);
    throw new PgqueError(
      "PAYLOAD_NOT_JSON",
      `expected the ${what} for queue ${JSON.stringify(queue)} to be JSON, got${path && ` at ${path}`}: ${message}`,
      {
        details: { queue, issues: [{ path, message }] },
        cause,
      },
    );
  }
}

/** What came of reading a payload from the queue. */
export type Decoded = { payload: unknown } | { unreadable: unknown; error: PgqueError };

/**
 * Reads a payload. Never throws: whatever a schema does, the message stays with its batch. A promise only where a schema has its say: one for
 * every message of a large batch costs more than to read it. One that does not answer in time refuses the payload.
 */
export function decodePayload(queue: Queue, type: string, json: string, limitMs: number): Decoded | Promise<Decoded> {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch (cause) {
    const message = errorMessage(cause);
    const expected = `expected a payload from queue ${JSON.stringify(queue.name)} to be JSON`;
    const details = { queue: queue.name, issues: [{ path: "", message }] };
    return {
      unreadable: json,
      error: new PgqueError("PAYLOAD_NOT_JSON", `${expected}, got: ${message}`, { details, cause }),
    };
  }
  const hint = "It was sent with another schema, or by other means than this client";
  const message = typeProblem(queue, type);
  if (message !== undefined)
    return { unreadable: value, error: payloadInvalid(queue.name, [{ path: "", message }], hint) };
  const schema = schemaOf(queue, type);
  if (!schema) return { payload: value };
  return validateInTime(schema, value, limitMs).then((result) =>
    "value" in result
      ? { payload: result.value }
      : { unreadable: value, error: payloadInvalid(queue.name, result.issues, hint) },
  );
}

function payloadInvalid(queue: string, issues: PayloadIssue[], hint: string): PgqueError {
  return new PgqueError(
    "PAYLOAD_INVALID",
    `expected a payload that fits the schema of queue ${JSON.stringify(queue)}, got: ${shown(issues)}`,
    {
      hint,
      details: { queue, issues },
    },
  );
}

/** The first issues, as one line. */
function shown(issues: readonly PayloadIssue[]): string {
  const lines = issues.slice(0, 5).map(({ path, message }) => (path ? `${path}: ${message}` : message));
  if (issues.length > lines.length) lines.push(`and ${issues.length - lines.length} more`);
  return lines.join("; ");
}
