/** Why a cell has no figures though nothing failed. */
export class NotRun extends Error {
  override name = "NotRun";
}

/** Why a cell has no figures: something that it needs is not installed, or it failed. */
export function whyNot(failure: unknown): { notRun: string | null; error: string | null } {
  const message = failure instanceof Error ? failure.message : String(failure);
  return failure instanceof NotRun ? { notRun: message, error: null } : { notRun: null, error: message };
}
