import type { StandardSchemaV1 } from "@standard-schema/spec";
import { PgqueError, type PayloadIssue } from "./errors.ts";
import { NotJson, toJson } from "./json.ts";
import type { Queue } from "./queue.ts";

/**
 * The JSON texts of payloads, checked. The schema sees what the JSON says, not the value that was given: what a receiver could
 * not read is refused here and never gets into the queue.
 *
 * @param keys where each payload is, for the paths in errors: its index, or nothing for a single one
 */
export async function encodePayloads<Input>(
  queue: Queue<Input, unknown>,
  payloads: readonly Input[],
  many: boolean,
): Promise<string[]> {
  const texts: string[] = [];
  const issues: PayloadIssue[] = [];
  for (const [index, payload] of payloads.entries()) {
    const at = many ? [index] : [];
    const json = encodeJson(queue.name, "payload", payload, at);
    texts.push(json);
    if (!queue.payload) continue;
    const result = await validate(queue.payload, JSON.parse(json));
    if (result.issues) issues.push(...result.issues.map((issue) => located(issue, at)));
  }
  if (issues.length > 0)
    throw payloadInvalid(queue.name, issues, "Nothing was sent: mend the payload, or the schema given to defineQueue");
  return texts;
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
    const message = cause instanceof Error ? cause.message : String(cause);
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
export type Decoded<Output> = { payload: Output } | { unreadable: unknown; error: PgqueError };

/** Reads a payload. Never throws: whatever a schema does, the message stays with its batch. */
export async function decodePayload<Output>(queue: Queue<unknown, Output>, text: string): Promise<Decoded<Output>> {
  let json;
  try {
    json = JSON.parse(text);
  } catch (cause) {
    const message = cause instanceof Error ? cause.message : String(cause);
    const expected = `expected a payload from queue ${JSON.stringify(queue.name)} to be JSON`;
    const details = { queue: queue.name, issues: [{ path: "", message }] };
    return {
      unreadable: text,
      error: new PgqueError("PAYLOAD_NOT_JSON", `${expected}, got: ${message}`, { details, cause }),
    };
  }
  // without a schema the type is unknown, and any JSON is that
  if (!queue.payload) return { payload: json };
  const result = await validate(queue.payload, json);
  if (!result.issues) return { payload: result.value };
  const issues = result.issues.map((issue) => located(issue, []));
  return {
    unreadable: json,
    error: payloadInvalid(queue.name, issues, "It was sent with another schema, or by other means than this client"),
  };
}

/** A schema that throws, against the standard, refuses the payload. */
async function validate<Output>(
  schema: StandardSchemaV1<unknown, Output>,
  json: unknown,
): Promise<StandardSchemaV1.Result<Output>> {
  try {
    return await schema["~standard"].validate(json);
  } catch (error) {
    return { issues: [{ message: `the schema threw: ${error instanceof Error ? error.message : String(error)}` }] };
  }
}

function payloadInvalid(queue: string, issues: PayloadIssue[], hint: string): PgqueError {
  const shown = issues.slice(0, 5).map(({ path, message }) => (path ? `${path}: ${message}` : message));
  if (issues.length > shown.length) shown.push(`and ${issues.length - shown.length} more`);
  return new PgqueError(
    "PAYLOAD_INVALID",
    `expected a payload that fits the schema of queue ${JSON.stringify(queue)}, got: ${shown.join("; ")}`,
    {
      hint,
      details: { queue, issues },
    },
  );
}

function located(issue: StandardSchemaV1.Issue, at: readonly PropertyKey[]): PayloadIssue {
  const keys = (issue.path ?? []).map((segment) => (typeof segment === "object" ? segment.key : segment));
  return { path: pathOf([...at, ...keys]), message: issue.message };
}

/** `items[0].price`, as one would write it in code. */
function pathOf(keys: readonly PropertyKey[]): string {
  return keys
    .map((key) => {
      if (typeof key === "number") return `[${key}]`;
      const name = String(key);
      return /^[\p{ID_Start}_$][\p{ID_Continue}$]*$/u.test(name) ? `.${name}` : `[${JSON.stringify(name)}]`;
    })
    .join("")
    .replace(/^\./, "");
}
