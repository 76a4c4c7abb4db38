/** How messages are given back. */
export interface NackOptions {
  /** How long until they are tried again, in milliseconds; fractions are rounded. 0 to a hundred years. Default: 60000. */
  retryAfterMs?: number | undefined;
  /** Why: kept with the message when it becomes a dead letter. Default: none. */
  reason?: string | null | undefined;
}

/** One message to be tried again. */
export interface Retry {
  id: bigint;
  /** How long until then, in milliseconds; fractions are rounded. 0 to a hundred years. */
  afterMs: number;
  /** Why: kept with the message when it becomes a dead letter. Default: none. */
  reason?: string | null | undefined;
}

/** How a batch ends. What is named in neither list is acked. */
export interface SettleOptions {
  /** Tried again later, one attempt further; dead letters when their attempts are used up. */
  retry?: readonly Retry[] | undefined;
  /** Given back at once, without using an attempt: a worker that stops returns what it has not begun. */
  release?: readonly bigint[] | undefined;
}
