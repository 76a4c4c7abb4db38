/** How long after a report the next one comes, in milliseconds; `dynamic` is longer while nothing happens. */
export type FeedbackInterval = number | "dynamic";

/** Between these, `dynamic` doubles. */
export const dynamicMs = { min: 100, max: 180_000 };

export const firstIntervalMs = (interval: FeedbackInterval): number =>
  interval === "dynamic" ? dynamicMs.min : interval;

/**
 * @param lastMs the interval that is over
 * @param idle no transaction id was assigned in it: there is nothing newer to move on to
 */
export function nextIntervalMs(interval: FeedbackInterval, lastMs: number, idle: boolean): number {
  if (interval !== "dynamic") return interval;
  return idle ? Math.min(dynamicMs.max, lastMs * 2) : dynamicMs.min;
}
