import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { PayloadIssue } from "../errors/errors.ts";
import { errorMessage } from "../options/checks.ts";
import { pathOf, NotJson, toJson } from "./json.ts";
import { validate } from "./validate.ts";

/**
 * The JSON of a schema's output, if the schema reads it and gives the same output: a receiver then has the value that the sender's schema
 * made, on every attempt. Otherwise the issues that prevent it.
 *
 * @param input the JSON that the output was made of
 */
export async function outputJson(
  schema: StandardSchemaV1,
  input: string,
  output: unknown,
  at: readonly PropertyKey[],
): Promise<{ json: string } | { issues: PayloadIssue[] }> {
  const first = jsonOf(output, at);
  // a schema that changed nothing has read its own output
  if ("issues" in first || first.json === input) return first;
  const reparsed = await validate(schema, JSON.parse(first.json), at);
  if ("issues" in reparsed) return reparsed;
  const second = jsonOf(reparsed.value, at);
  if ("issues" in second || second.json === first.json) return second;
  const difference = firstDifference(JSON.parse(first.json), JSON.parse(second.json), at);
  if (difference === undefined) return first;
  return { issues: [{ path: pathOf(difference), message: "the schema changes its own output" }] };
}

function jsonOf(output: unknown, at: readonly PropertyKey[]): { json: string } | { issues: PayloadIssue[] } {
  try {
    return { json: toJson(output) };
  } catch (error) {
    const path = pathOf([...at, ...(error instanceof NotJson ? error.path : [])]);
    return { issues: [{ path, message: errorMessage(error) }] };
  }
}

/** Where two JSON values differ; undefined when they are equal but for the order of members. */
function firstDifference(a: unknown, b: unknown, at: readonly PropertyKey[]): readonly PropertyKey[] | undefined {
  if (
    typeof a !== "object" ||
    typeof b !== "object" ||
    a === null ||
    b === null ||
    Array.isArray(a) !== Array.isArray(b)
  )
    return a === b ? undefined : at;
  const members = (value: object): [PropertyKey, unknown][] =>
    Array.isArray(value) ? [...value.entries()] : Object.entries(value);
  const others = new Map(members(b));
  if (others.size !== members(a).length) return at;
  for (const [key, member] of members(a)) {
    const difference = others.has(key) ? firstDifference(member, others.get(key), [...at, key]) : [...at, key];
    if (difference !== undefined) return difference;
  }
  return undefined;
}
