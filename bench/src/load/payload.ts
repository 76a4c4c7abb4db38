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
