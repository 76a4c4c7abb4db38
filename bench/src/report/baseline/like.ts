import type { Results } from "../../xmin/xmin-results.ts";

/**
 * What of a baseline this run's cells, which are of one server, can be compared with: its cells of the same major. A run of one major is compared with a
 * baseline of one other too: that they differ is told. Without cells: there is nothing to compare with.
 */
export function likeWithLike({ cells, majors }: Pick<Results, "cells" | "majors">, baseline: Results): Results {
  const own = new Set(cells.map(majorOf));
  const same = baseline.cells.filter((cell) => own.has(majorOf(cell)));
  const several = majors !== undefined || new Set(baseline.cells.map(majorOf)).size > 1;
  return same.length === 0 && !several ? baseline : { ...baseline, cells: same };
}

/** 17 of "17.10", and "19beta1" is of 19. */
export const majorOf = ({ postgres }: { postgres: string }): number => Number.parseInt(postgres, 10);
