import { sanitize } from "@pgque/client/redact";
import { json } from "./json.ts";
import { type JsonFlags, printLine } from "./print.ts";

/** What is shown of a message, wherever it was found. */
export interface ShownMessage {
  id: string;
  type: string;
  payload: unknown;
  headers: Record<string, unknown>;
  attempt: number;
  createdAt: Date;
  priority: number | null;
  key: string | null;
}

/** A message as a line for a person: when it was sent, its id, type and payload as JSON, and what else it has. */
export function messageLine(message: ShownMessage): string {
  const { id, type, payload, headers, attempt, createdAt, priority, key } = message;
  const rest = [
    attempt > 1 ? `attempt=${attempt}` : "",
    priority === null ? "" : `priority=${priority}`,
    key === null ? "" : `key=${JSON.stringify(key)}`,
    Object.keys(headers).length === 0 ? "" : `headers=${json(headers, 0)}`,
  ];
  // so that a type is one word, and an empty one is seen
  const typeWord = /^\S+$/.test(type) ? type : JSON.stringify(type);
  const parts = [createdAt.toISOString(), id, typeWord, json(payload, 0), ...rest];
  return sanitize(parts.filter(Boolean).join("  "));
}

/** Prints them, a line each. Done when all of it has been taken: what nobody has read must not be acked. */
export async function printMessages(messages: readonly ShownMessage[], flags: JsonFlags): Promise<void> {
  for (const message of messages) await printLine(flags.json ? json(message, 0) : messageLine(message));
}
