import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { PayloadIssue } from "../errors/errors.ts";
import { errorMessage } from "../options/checks.ts";
import { pathOf } from "./json.ts";

/** What a schema makes of a payload. */
export type Validated = { value: unknown } | { issues: PayloadIssue[] };

/** Runs a schema. One that throws, or answers otherwise than the standard says, refuses the payload. */
export async function validate(
  schema: StandardSchemaV1,
  json: unknown,
  at: readonly PropertyKey[],
): Promise<Validated> {
  try {
    const result = await schema["~standard"].validate(json);
    return result.issues ? { issues: result.issues.map((issue) => located(issue, at)) } : { value: result.value };
  } catch (error) {
    const message = `the schema threw: ${errorMessage(error)}`;
    return { issues: [{ path: pathOf(at), message }] };
  }
}

/** The same, within so many milliseconds: a schema that takes longer refuses the payload. */
export async function validateInTime(schema: StandardSchemaV1, json: unknown, limitMs: number): Promise<Validated> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<Validated>((resolve) => {
    const issues = [{ path: "", message: `the schema did not answer within ${limitMs} ms` }];
    timer = setTimeout(resolve, limitMs, { issues });
  });
  try {
    return await Promise.race([validate(schema, json, []), late]);
  } finally {
    clearTimeout(timer);
  }
}

function located(issue: StandardSchemaV1.Issue, at: readonly PropertyKey[]): PayloadIssue {
  const keys = (issue.path ?? []).map((segment) => (typeof segment === "object" ? segment.key : segment));
  const { code } = issue as { code?: unknown };
  return { path: pathOf([...at, ...keys]), ...(typeof code === "string" && { code }), message: issue.message };
}
