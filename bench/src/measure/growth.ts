import type { MemorySample } from "../scenarios/drain/process.ts";
import { afterWarmUp, growthVerdict, theilSen, type GrowthVerdict, type Slope } from "./slope.ts";

/** What became of a process's memory while it drained. */
export interface Growth {
  rssBytesPerMessage: Slope | null;
  heapBytesPerMessage: Slope | null;
  verdict: GrowthVerdict;
  samples: MemorySample[];
}

/** Whatever is kept of every message, a pointer to it is. */
export const pointerBytes = 8;

/** Judged by heap and RSS, each of which may grow by less than a pointer a message. */
export function growthOf(samples: MemorySample[]): Growth {
  const counted = afterWarmUp(samples);
  const rss = theilSen(counted.map(({ handled, rssBytes }) => [handled, rssBytes]));
  const heap = theilSen(counted.map(({ handled, heapBytes }) => [handled, heapBytes]));
  const verdict = growthVerdict([rss, heap].map((slope) => ({ slope, limit: pointerBytes })));
  return { rssBytesPerMessage: rss, heapBytesPerMessage: heap, verdict, samples };
}
