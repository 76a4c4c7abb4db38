/** A property of a value that nothing is known of; undefined when it has none. */
export function field(value: unknown, name: string): unknown {
  return (typeof value === "object" || typeof value === "function") && value !== null
    ? Reflect.get(value, name)
    : undefined;
}
