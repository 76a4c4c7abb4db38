/** What the workers are given: a number, and when it was due. Small, as in the benchmarks that others publish. */
export interface Numbered {
  n: number;
  /** On the clock of `nowMs()`; in messages whose latency is measured. */
  due?: number;
}

/** So many of them, the first with this number. */
export function numbered(first: number, count: number): Numbered[] {
  return Array.from({ length: count }, (_, index) => ({ n: first + index }));
}

/** Which of the messages 0 to `messages` - 1 a process was given, and how many of them more than once. */
export class Seen {
  readonly bits: Uint8Array;
  count = 0;
  again = 0;

  constructor(messages: number) {
    this.bits = new Uint8Array(Math.ceil(messages / 8));
  }

  add({ n }: Numbered): void {
    const [byte, bit] = [n >> 3, 1 << (n & 7)];
    const before = this.bits[byte];
    if (before === undefined)
      throw new Error(`expected a message with a number below ${this.bits.length * 8}, got ${n}`);
    if ((before & bit) === 0) this.count += 1;
    else this.again += 1;
    this.bits[byte] = before | bit;
  }
}

/** What is wrong with what all processes together were given; null when each of the messages was handled once. */
export function handledWrongly(messages: number, processes: { bits: Uint8Array; again: number }[]): string | null {
  const all = new Uint8Array(Math.ceil(messages / 8));
  let handled = 0;
  let distinct = 0;
  for (const { bits, again } of processes) {
    handled += again;
    for (const [index, byte] of bits.entries()) {
      handled += bitsIn(byte);
      distinct += bitsIn(byte & ~(all[index] ?? 0));
      all[index] = (all[index] ?? 0) | byte;
    }
  }
  if (distinct === messages && handled === messages) return null;
  return `expected ${messages} messages to be handled once each: ${messages - distinct} were not, ${handled - distinct} times one was again`;
}

function bitsIn(byte: number): number {
  let bits = 0;
  for (let left = byte; left !== 0; left &= left - 1) bits += 1;
  return bits;
}
