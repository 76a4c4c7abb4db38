import type { Message, PayloadIssue, PgqueError } from "@pgque/client";

/** What is wrong with a payload, for a log: where, and why. A reason that quotes the payload, as some schemas' do, is told without the quotation. */
export function issuesToLog({ payload }: Message, { details }: PgqueError): readonly PayloadIssue[] {
  const issues = details.issues ?? [];
  const quoted = valuesOf(payload).filter((value) => issues.some(({ message }) => message.includes(value)));
  if (quoted.length === 0) return issues;
  const escaped = quoted
    .sort((a, b) => b.length - a.length)
    .map((value) => value.replaceAll(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`));
  // whole words, so that the value 1 leaves "at least 10" as it is
  const words = new RegExp(String.raw`(?<![\p{L}\p{N}])(?:${escaped.join("|")})(?![\p{L}\p{N}])`, "gu");
  return issues.map(({ path, message }) => ({ path, message: message.replaceAll(words, "…") }));
}

/** All strings and numbers of a JSON value, however deep. */
function valuesOf(json: unknown): string[] {
  const found = new Set<string>();
  const left = [json];
  while (left.length > 0) {
    const value = left.pop();
    if (typeof value === "object" && value !== null) for (const part of Object.values(value)) left.push(part);
    else if (typeof value === "number" || (typeof value === "string" && value !== "")) found.add(String(value));
  }
  return Array.from(found);
}
