import type { Spread } from "./results.ts";

export const notMeasured = "–";

const grouped = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

export const whole = (value: number): string => grouped.format(value);

export const ratio = (value: number): string => value.toFixed(2);

export const micros = (value: number): string => `${whole(value)} µs`;

export function bytes(value: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  let scaled = value;
  while (scaled >= 1024 && unit < units.length - 1) {
    scaled /= 1024;
    unit += 1;
  }
  return `${unit === 0 ? scaled : scaled.toFixed(1)} ${units[unit]}`;
}

/** Milliseconds, as many digits as mean something. */
export function ms(value: number): string {
  if (value >= 10_000) return `${(value / 1000).toFixed(1)} s`;
  if (value >= 100) return `${whole(value)} ms`;
  return `${value.toFixed(value >= 10 ? 1 : 2)} ms`;
}

/** 95, or 1:05, or 1:02:05. */
export function clock(seconds: number): string {
  const total = Math.max(0, Math.round(seconds));
  const two = (value: number): string => String(value).padStart(2, "0");
  const minutes = Math.floor(total / 60);
  if (minutes < 60) return `${minutes}:${two(total % 60)}`;
  return `${Math.floor(minutes / 60)}:${two(minutes % 60)}:${two(total % 60)}`;
}

/** The median, and the range when there is one. */
export function spread(value: Spread | null, format: (value: number) => string): string {
  if (value === null) return notMeasured;
  if (value.min === value.max) return format(value.median);
  return `${format(value.median)} (${format(value.min)}–${format(value.max)})`;
}

/** Lines of at most so many characters, broken between words. */
export function wrap(text: string, columns = 100): string {
  const lines = [""];
  for (const word of text.split(" ")) {
    const line = lines.at(-1) ?? "";
    if (line === "") lines[lines.length - 1] = word;
    else if (line.length + 1 + word.length <= columns) lines[lines.length - 1] = `${line} ${word}`;
    else lines.push(word);
  }
  return lines.join("\n");
}

/** CPU seconds as milliseconds, with as many digits as mean something. */
export const cpuMs = (seconds: number): string => `${(seconds * 1000).toFixed(seconds < 0.01 ? 1 : 0)} ms`;
