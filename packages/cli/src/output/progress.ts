/** How far a long work is. */
export interface Progress {
  /** @param done of the total, or without one simply so many */
  update(done: number): void;
  stop(): void;
}

const silent: Progress = { update: () => undefined, stop: () => undefined };

/**
 * A bar on standard error while something long is under way; only on a terminal.
 *
 * @param total null: not known, there is a count alone
 * @param unit what is counted: `messages`
 */
export async function progressBar(total: number | null, unit: string): Promise<Progress> {
  if (!process.stderr.isTTY) return silent;
  const { Presets, SingleBar } = await import("cli-progress");
  const bar = new SingleBar(
    {
      format:
        total === null
          ? `{value} ${unit}, {duration_formatted}`
          : `{bar} {percentage}%  {value}/{total} ${unit}, {eta_formatted} left`,
      stream: process.stderr,
      hideCursor: true,
      barsize: 20,
      clearOnComplete: true,
    },
    Presets.shades_classic,
  );
  bar.start(total ?? 0, 0);
  return { update: (done) => bar.update(done), stop: () => bar.stop() };
}
