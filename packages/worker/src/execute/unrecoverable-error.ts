/**
 * Thrown by a handler whose message can never be handled: it becomes a dead letter at once, with this error's message and stack.
 *
 * @example
 * if (customer === undefined) throw new UnrecoverableError(`no customer ${payload.customerId}`);
 */
export class UnrecoverableError extends Error {
  override readonly name = "UnrecoverableError";
}

/** Of this or another copy of the package. */
export function isUnrecoverable(error: unknown): boolean {
  try {
    return error instanceof Error && error.name === "UnrecoverableError";
  } catch {
    // a revoked Proxy can be thrown, too
    return false;
  }
}
