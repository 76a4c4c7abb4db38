const head = '{"t":';

/** The least a payload can be and still say when it was due. */
export const payloadBytesMin = 32;

/** A JSON object of exactly so many bytes that says when the message was meant to be sent. */
export function payloadDueAt(dueMs: number, bytes: number): string {
  const start = `${head}${dueMs.toFixed(3)},"pad":"`;
  return `${start}${"x".repeat(Math.max(0, bytes - start.length - 2))}"}`;
}

/** When a message was meant to be sent. Of a text it reads the one number without parsing the rest: the harness shares its cores with the server. */
export function dueOf(payload: unknown): number {
  return typeof payload === "string" ? Number.parseFloat(payload.slice(head.length)) : (payload as { t: number }).t;
}
