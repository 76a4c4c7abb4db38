import type { MessageWatch } from "./tally.ts";

/**
 * Keeps books of messages in constant memory: how many, and a sum over all of what tells them apart, their due times. Two sums that are equal
 * belong to the same messages; one that was lost and another that came twice make them differ, where counts alone would agree.
 */
export class MessageBooks implements MessageWatch {
  #sent = { messages: 0, sum: 0 };
  #received = { messages: 0, sum: 0 };

  sent(messages: number, dueMs: number): void {
    this.#sent.messages += messages;
    this.#sent.sum = (this.#sent.sum + Math.imul(messages, fingerprint(dueMs))) | 0;
  }

  received(dueMs: number): void {
    this.#received.messages += 1;
    this.#received.sum = (this.#received.sum + fingerprint(dueMs)) | 0;
  }

  /** What is wrong while some may still be waiting: null unless more came than were sent. */
  surplus(): string | null {
    const [sent, received] = [this.#sent.messages, this.#received.messages];
    return received > sent ? `${sent} messages were sent, but ${received} received: some came twice` : null;
  }

  /** What is wrong when nothing is under way any more; null when each message that was sent has come once. */
  mismatch(): string | null {
    const [sent, received] = [this.#sent.messages, this.#received.messages];
    if (received < sent) return `${sent - received} of ${sent} messages were lost`;
    if (received > sent) return this.surplus();
    return this.#sent.sum === this.#received.sum
      ? null
      : `of ${sent} messages some were lost, and as many others came twice`;
  }
}

/** Of a due time as a payload has it, to the microsecond: spread, so that sums of different messages are not equal for being evenly spaced. */
function fingerprint(dueMs: number): number {
  const micros = Math.round(Number.parseFloat(dueMs.toFixed(3)) * 1000);
  const folded = (micros % 2 ** 32) ^ Math.floor(micros / 2 ** 32);
  // the finalizer of MurmurHash3
  const once = Math.imul(folded ^ (folded >>> 16), 0x85_eb_ca_6b);
  const twice = Math.imul(once ^ (once >>> 13), 0xc2_b2_ae_35);
  return twice ^ (twice >>> 16);
}
