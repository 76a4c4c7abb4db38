/** What limits depend on. */
export interface Load {
  messagesPerSecond: number;
  /** How long the samples that are counted lasted. */
  hours: number;
}

/**
 * Memory and disk: what comes to a GiB in a week, the time between two releases or restarts, for which servers have room. At 800 messages/s these are 2.2 bytes a
 * message: less than a pointer to each, or a row that stays of any twenty.
 */
export const bytesPerHourMax = 2 ** 30 / (7 * 24);

/**
 * What is judged has to last so long before anything is said to grow. Whatever is new grows for minutes: code is compiled, heaps find their size, backends fill
 * their caches; and a minute of another program's work is half of a short run.
 */
export const hoursMin = 0.25;

/** An engine that leaves a dead tuple of every message leaves a thousand times as many. */
export const deadTuplesPerMessageMax = 1 / 1000;

/** A tenth of itself over the time counted: windows scatter by as much, and the longer a soak, the less an hour may add. */
export const p99ShareMax = 0.1;

export const bytesLimit = (): number => bytesPerHourMax;

export const deadTuplesLimit = (_typical: number, { messagesPerSecond }: Load): number =>
  messagesPerSecond * 3600 * deadTuplesPerMessageMax;

export const p99Limit = (typical: number, { hours }: Load): number => (typical * p99ShareMax) / hours;
