import { sanitize } from "@pgque/client/redact";
import { showAge } from "../output/duration.ts";
import { showBytes, showCount, showEstimate } from "../output/text.ts";
import type { Line } from "./snapshot.ts";

/** A column of the screen, and the key that sorts by it. */
export interface Column {
  key: string;
  title: string;
  /** Numbers are sorted with the largest first and stand on the right. */
  by: (line: Line) => number | string;
  show: (line: Line) => string;
}

const counts = (key: string, title: string, by: (line: Line) => number): Column => ({
  key,
  title,
  by,
  show: (line) => showCount(by(line)),
});

const rates = (key: string, title: string, by: (line: Line) => number): Column => ({
  ...counts(key, title, by),
  show: (line) => (by(line) < 10 && by(line) > 0 ? by(line).toFixed(1) : showCount(by(line))),
});

/** In the order in which they are shown. */
export const columns: readonly Column[] = [
  { key: "n", title: "queue", by: ({ queue }) => queue, show: ({ queue }) => sanitize(queue) },
  { key: "c", title: "consumer", by: ({ consumer }) => consumer ?? "", show: consumerOf },
  { key: "d", title: "depth", by: (l) => l.depth, show: (l) => showEstimate(showCount(l.depth), l.estimated) },
  rates("s", "sent/s", (l) => l.sentPerSecond),
  rates("v", "received/s", (l) => l.receivedPerSecond),
  counts("f", "in flight", (l) => l.inFlight),
  { key: "l", title: "lag", by: (l) => l.lagMs ?? -1, show: (l) => showAge(l.lagMs) ?? "-" },
  counts("y", "delayed", (l) => l.delayed),
  counts("x", "dead letters", (l) => l.deadLetters),
  { key: "b", title: "size", by: (l) => l.bytes, show: (l) => showBytes(l.bytes) },
];

/** The key of each column, by the name that people type. */
export const sortKeys: Record<string, string> = Object.fromEntries(
  columns.map(({ title, key }) => [title.replace("/s", "").replace(" ", "-"), key]),
);

function consumerOf({ consumer, paused }: Line): string {
  return `${consumer === null ? "(none)" : sanitize(consumer)}${paused ? " (paused)" : ""}`;
}

/** The lines by a column, the largest number or the first name first. */
export function sorted(lines: readonly Line[], key: string, isReversed: boolean): Line[] {
  const by = (columns.find((column) => column.key === key) ?? columns[0])?.by ?? (() => 0);
  const direction = isReversed ? -1 : 1;
  return [...lines].sort((a, b) => {
    const [x, y] = [by(a), by(b)];
    if (typeof x === "number" && typeof y === "number") return direction * (y - x);
    return direction * String(x).localeCompare(String(y));
  });
}
