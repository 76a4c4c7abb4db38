import { sanitizeLines, redact } from "@pgque/client/redact";

/** The command was called wrongly: exit code 2 instead of 1. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/**
 * What a person reads of an error: its message and those of its causes, never a stack, never a password, nothing that a terminal acts on.
 *
 * @param between what stands between the messages; in a log not the end of a line
 */
export function explain(error: unknown, between: string = "\n  because: "): string {
  const lines: string[] = [];
  for (let at: unknown = error; at !== undefined && at !== null && lines.length < 5; at = causeOf(at)) {
    const line = messageOf(at);
    // an error of ours names its cause in its own message, maybe without the full stop
    if (!lines.some((said) => said.includes(line.replace(/\.$/, "")))) lines.push(line);
  }
  return sanitizeLines(redact(lines.join(between)));
}

function causeOf(error: unknown): unknown {
  return error instanceof Error ? error.cause : undefined;
}

function messageOf(error: unknown): string {
  // Node tries every address of a name and reports the failures together, with no message of its own
  if (error instanceof AggregateError && error.message === "") return error.errors.map(messageOf).join("; ");
  if (!(error instanceof Error)) return String(error);
  const { hint } = error as { hint?: unknown };
  const message = error.message || error.name;
  return typeof hint === "string" && !message.includes(hint) ? `${message}. ${hint}` : message;
}
