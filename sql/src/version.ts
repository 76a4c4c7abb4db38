/** Version of the schema that this package installs. */
export const schemaVersion = "0.1.0";

/** Schema that is installed into when none is named. */
export const defaultSchema = "pgque";

/**
 * Whether a schema of a version serves whoever needs another: the same or a later compatible one, so that during a rolling
 * deployment the schema goes first. Before 1.0 the second number is the one that breaks.
 */
export function serves(found: string, needed: string): boolean {
  const [have, need] = [numbers(found), numbers(needed)];
  const compatible = have[0] === need[0] && (need[0] !== 0 || have[1] === need[1]);
  return compatible && !isOlder(found, needed);
}

export function isOlder(version: string, than: string): boolean {
  const other = numbers(than);
  const difference = numbers(version).map((n, i) => n - (other[i] ?? 0));
  return (difference.find((d) => d !== 0) ?? 0) < 0;
}

function numbers(version: string): [number, number, number] {
  const [major = 0, minor = 0, patch = 0] = version.split(/[.+-]/).map((part) => Number.parseInt(part, 10));
  return [major, minor, patch];
}
