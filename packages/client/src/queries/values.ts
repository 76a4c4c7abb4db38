// Every argument crosses as text, a list as a list of texts, and every result comes back as text: no type parser of the process is used or
// changed. What may run in the caller's transaction, on another driver than pg, goes further: its arguments are text for the server too
// (`$1::text::bigint`), a list is one text, and its columns are read by their place, since drivers can be set to rename them.

/** A list, as Postgres writes an array. */
export function list(values: readonly (string | bigint | null)[]): string {
  const element = (value: string | bigint | null) =>
    value === null ? "null" : `"${String(value).replaceAll(/["\\]/g, String.raw`\$&`)}"`;
  return `{${values.map(element).join(",")}}`;
}

/**
 * The same for JSON texts. The strings of JSON and the quoted elements of an array escape the same two characters in the same way, and a JSON
 * text has no other that JSON would escape; and it is one call where `list` has one for each value.
 */
export function jsonTexts(values: readonly string[]): string {
  return `{${JSON.stringify(values).slice(1, -1)}}`;
}

/** The arguments of a function by name, each followed by its type in SQL unless that is text: `"batch_id bigint"`. Undefined: null. */
export type Arguments = Readonly<Record<string, string | bigint | null | undefined>>;

/** A call of a function in named notation, so that it may gain arguments. The text is constant for a schema, so that it can be prepared. */
export function called(name: string, args: Arguments): [text: (schema: string) => string, values: (string | null)[]] {
  const named = Object.keys(args).map((arg, i) => {
    const [label, type] = arg.split(" ");
    return `${label} => $${i + 1}${type === undefined ? "" : `::text::${type}`}`;
  });
  return [
    (schema) => `${schema}.${name}(${named.join(", ")})`,
    Object.values(args).map((value) => value?.toString() ?? null),
  ];
}

/** An interval. Fractions are rounded. */
export function milliseconds(value: number): string {
  return `${Math.round(value)} milliseconds`;
}

/** Expression for a time as `date` reads it, or for an interval in milliseconds: rounded down, so that a time that was read finds its row. */
export function epochMs(expression: string): string {
  return `floor(extract(epoch from ${expression}) * 1000)::bigint::text`;
}

export function date(value: unknown): Date {
  return new Date(Number(value));
}

/** SQL's null stays null. */
export function orNull<T>(value: unknown, read: (value: unknown) => T): T | null {
  return value === null || value === undefined ? null : read(value);
}

/** A payload as it is kept: its JSON, or the text when it is none. */
export function jsonOrText(value: unknown): unknown {
  const text = String(value);
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

export function headersOf(value: unknown): Record<string, unknown> {
  return (typeof value === "string" && JSON.parse(value)) || {};
}
