import type { Relation } from "./relations.ts";

/** What a system gave back to the operating system between two samples. */
export interface Reclaimed {
  bytes: number;
  /** Segments emptied by TRUNCATE; null for a system that has none. */
  rotations: number | null;
}

/**
 * A table whose file was replaced gave back all it had; one that merely shrank gave back the difference. What came and
 * went between two samples is not seen, so both figures are lower bounds.
 */
export function reclaimedBetween(before: Relation[], after: Relation[], segments: RegExp | null): Reclaimed {
  const earlier = new Map(before.map((relation) => [relation.oid, relation]));
  const seen = new Set(after.map(({ oid }) => oid));
  let bytes = before.filter(({ oid }) => !seen.has(oid)).reduce((sum, gone) => sum + gone.bytes, 0);
  let rotations = 0;
  for (const now of after) {
    const then = earlier.get(now.oid);
    if (then === undefined) continue;
    const replaced = then.filenode !== now.filenode;
    bytes += replaced ? then.bytes : Math.max(0, then.bytes - now.bytes);
    if (replaced && segments?.test(now.name)) rotations += 1;
  }
  return { bytes, rotations: segments === null ? null : rotations };
}
