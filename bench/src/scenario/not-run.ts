import { redact } from "@pgque/client/redact";

/** Why a cell has no figures though nothing failed. */
export class NotRun extends Error {
  override name = "NotRun";
}

/** Why a cell has no figures: something that it needs is not installed, or it failed. */
export function whyNot(failure: unknown): { notRun: string | null; error: string | null } {
  const message = reasonOf(failure);
  return failure instanceof NotRun ? { notRun: message, error: null } : { notRun: null, error: message };
}

/** What a failure says, for whoever reads the results: without the password of a server that was given. */
export function reasonOf(failure: unknown): string {
  return redact(failure instanceof Error ? failure.message : String(failure));
}
