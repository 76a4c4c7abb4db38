/** A backlog that takes a consumer longer than this, were nothing more sent at the rate, is not one in passing. */
export const runawaySeconds = 10;

/**
 * From the first sample until the backlog is beyond what is sent in `runawaySeconds` and is so in every sample that follows. Null when the last one is
 * below: it was caught up with, or never ran away.
 */
export function ranAwayAfter(samples: { seconds: number; depth: number }[], ratePerSecond: number): number | null {
  const limit = runawaySeconds * ratePerSecond;
  const [first] = samples;
  const away = samples[samples.findLastIndex(({ depth }) => depth <= limit) + 1];
  return first === undefined || away === undefined ? null : away.seconds - first.seconds;
}

/**
 * Why what follows would say nothing of the transaction: the consumer, or the producer, was too slow for the rate before it was opened. Null when both kept
 * up, but for a stall in passing.
 */
export function fellBehind(finished: number, cleanSeconds: number, ratePerSecond: number): string | null {
  const due = ratePerSecond * cleanSeconds;
  const behind = due - finished;
  if (behind <= Math.max(ratePerSecond, due / 10)) return null;
  return `invalid: ${behind} of ${due} messages were not finished before the transaction was opened: choose a lower rate`;
}
