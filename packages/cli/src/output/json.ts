import { sanitizeLines } from "@pgque/client/redact";

/**
 * A value for a program to read: ids, which JavaScript's numbers cannot hold, are strings, times are ISO 8601 in UTC. A terminal may be given
 * it too: what could do something to it is escaped.
 *
 * @param indent spaces for each level; 0 for a line of JSON lines
 */
export function json(value: unknown, indent = 2): string {
  const text = JSON.stringify(
    value,
    (_name, member: unknown) => (typeof member === "bigint" ? String(member) : member),
    indent,
  );
  return sanitizeLines(text);
}
