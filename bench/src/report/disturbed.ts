import { whole } from "./format.ts";

/** Other programs may have this share of the cores before the reader is told. */
const othersShareMax = 0.1;

/** What a reader has to know when something else used the machine while it was measured: of the worst cell. */
export function disturbed(
  cells: { name: string; seconds: number; otherCpuSeconds: number | null }[],
  cores: number,
): string[] {
  const shares = cells.map(({ name, seconds, otherCpuSeconds }) => ({
    name,
    share: (otherCpuSeconds ?? 0) / (seconds * cores),
  }));
  const [worst] = shares.sort((a, b) => b.share - a.share);
  if (worst === undefined || worst.share < othersShareMax) return [];
  return [
    `Disturbed: other programs used up to ${whole(worst.share * 100)} % of the machine's CPU during a cell (${worst.name}).`,
  ];
}
