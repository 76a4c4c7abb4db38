const units = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["min", 60_000],
  ["s", 1000],
] as const;

/** A duration in its two largest units: `3 h 5 min`. */
export function duration(valueMs: number): string {
  let restMs = Math.max(0, Math.round(valueMs / 1000) * 1000);
  const parts: string[] = [];
  for (const [unit, sizeMs] of units) {
    const whole = Math.floor(restMs / sizeMs);
    restMs -= whole * sizeMs;
    if (whole > 0) parts.push(`${whole} ${unit}`);
    else if (parts.length > 0) break;
  }
  return parts.slice(0, 2).join(" ") || "0 s";
}

const sizes = ["B", "kiB", "MiB", "GiB", "TiB"];

/** A size in the largest unit of which it is at least one. */
export function bytes(value: number): string {
  const step = value < 1 ? 0 : Math.min(Math.floor(Math.log2(value) / 10), sizes.length - 1);
  const scaled = value / 1024 ** step;
  return `${scaled < 10 && step > 0 ? scaled.toFixed(1) : Math.round(scaled)} ${sizes[step]}`;
}

/** A rate a second: small ones with two digits. */
export function rate(perSecond: number): string {
  if (perSecond === 0) return "0";
  return perSecond < 10 ? String(Number(perSecond.toPrecision(2))) : Math.round(perSecond).toLocaleString("en");
}
