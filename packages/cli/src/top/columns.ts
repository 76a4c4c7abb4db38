import { sanitize } from "@pgque/client/redact";
import { showAge } from "../output/duration.ts";
import { showBytes, showCount } from "../output/text.ts";
import type { Line } from "./snapshot.ts";

/** A column of the screen, and the key that sorts by it. */
export interface Column {
  key: string;
  title: string;
  /** Numbers are sorted with the largest first and stand on the right. */
  by: (line: Line) => number | string;
  show: (line: Line) => string;
}

const rate = (perSecond: number): string =>
  perSecond < 10 && perSecond > 0 ? perSecond.toFixed(1) : showCount(perSecond);

/** In the order in which they are shown. */
export const columns: readonly Column[] = [
  { key: "n", title: "queue", by: ({ queue }) => queue, show: ({ queue }) => sanitize(queue) },
  { key: "c", title: "consumer", by: ({ consumer }) => consumer ?? "", show: consumerOf },
  {
    key: "d",
    title: "depth",
    by: ({ depth }) => depth,
    show: ({ depth, estimated }) => `${estimated ? "≈" : ""}${showCount(depth)}`,
  },
  { key: "i", title: "in/s", by: (l) => l.sentPerSecond, show: (l) => rate(l.sentPerSecond) },
  { key: "o", title: "out/s", by: (l) => l.receivedPerSecond, show: (l) => rate(l.receivedPerSecond) },
  { key: "f", title: "in flight", by: (l) => l.inFlight, show: (l) => showCount(l.inFlight) },
  {
    key: "l",
    title: "lag",
    by: (l) => l.lagMs ?? -1,
    show: (l) => (l.lagMs === null ? "-" : showAge(l.lagMs)),
  },
  { key: "w", title: "waiting", by: (l) => l.delayed, show: (l) => showCount(l.delayed) },
  { key: "x", title: "dead", by: (l) => l.deadLetters, show: (l) => showCount(l.deadLetters) },
  { key: "b", title: "size", by: (l) => l.bytes, show: (l) => showBytes(l.bytes) },
];

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
