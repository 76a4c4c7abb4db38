import { invalidity, type Evidence } from "../xmin/verdict.ts";

/** Of the messages that should have been sent. */
const sentShareMin = 0.99;

/** More than a stall that ends just then leaves behind. */
const behindSecondsMax = 5;

export interface SoakEvidence extends Omit<Evidence, "paced"> {
  rate: number;
  /** How long messages were sent. */
  seconds: number;
  /** Messages that were waiting when sending ended. */
  depthAtEnd: number;
  /** See MessageBooks; after the queue was drained. */
  mismatch: string | null;
}

/** Why a soak's figures cannot be used; null when they can. */
export function soakInvalidity(evidence: SoakEvidence): string | null {
  const { rate, seconds, enqueued, depthAtEnd, mismatch } = evidence;
  const general = invalidity({ ...evidence, mismatch: null, paced: true });
  if (general !== null) return general;
  if (enqueued < sentShareMin * rate * seconds) {
    return `invalid: expected ${rate} messages/s to be sent, got: ${(enqueued / seconds).toFixed(0)}/s, because sends took too long: give a lower rate, or more producers`;
  }
  if (depthAtEnd > behindSecondsMax * rate) {
    return `invalid: the consumers fell behind: ${depthAtEnd} messages, ${(depthAtEnd / rate).toFixed(0)} s of sending, were waiting at the end`;
  }
  return mismatch === null ? null : `invalid: ${mismatch}`;
}
