import { randomBytes } from "node:crypto";

const head = '{"t":';

/** The least a payload can be and still say when it was due. */
export const payloadBytesMin = 32;

/** A JSON object of exactly so many bytes that says when the message was meant to be sent. */
export function payloadDueAt(dueMs: number, bytes: number): string {
  return padded(dueMs, bytes, (length) => "x".repeat(length));
}

/** So many of that form, all alike in size and none in content, whose text PostgreSQL finds nothing to compress in. */
export function randomPayloads(count: number, bytes: number): string[] {
  const offsets = 4096;
  const random = randomBytes(bytes + offsets).toString("base64url");
  return Array.from({ length: count }, (_, index) =>
    padded(1_000_000 + index, bytes, (length) => random.slice(index % offsets, (index % offsets) + length)),
  );
}

function padded(dueMs: number, bytes: number, pad: (length: number) => string): string {
  const start = `${head}${dueMs.toFixed(3)},"pad":"`;
  return `${start}${pad(Math.max(0, bytes - start.length - 2))}"}`;
}

/** When a message was meant to be sent. Of a text it reads the one number without parsing the rest: the harness shares its cores with the server. */
export function dueOf(payload: unknown): number {
  return typeof payload === "string" ? Number.parseFloat(payload.slice(head.length)) : (payload as { t: number }).t;
}

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

/** What the scenario `send` sends: an order with its lines, as an application has it in hand. */
export interface Order {
  order: number;
  customer: string;
  currency: string;
  lines: { sku: string; quantity: number; price: number }[];
}

/** Different ones, whose JSON is the first with at least so many bytes when lines are added one by one. */
export function orders(count: number, bytes: number): Order[] {
  const size = (lines: number): number => JSON.stringify(order(count, lines)).length;
  let lines = 1;
  while (size(lines) < bytes) lines += 1;
  return Array.from({ length: count }, (_, index) => order(index, lines));
}

/** Bytes of the JSON of one of them, on average. */
export function meanBytes(payloads: readonly Order[]): number {
  return payloads.reduce((sum, payload) => sum + JSON.stringify(payload).length, 0) / payloads.length;
}

/** Of the same size whatever its number, which keeps its digits. */
function order(index: number, lines: number): Order {
  const number = 1_000_000 + index;
  return {
    order: number,
    customer: `c-${number}`,
    currency: "EUR",
    lines: Array.from({ length: lines }, (_, line) => ({
      sku: `A-${number + line}`,
      quantity: line + 1,
      price: 19.95,
    })),
  };
}
