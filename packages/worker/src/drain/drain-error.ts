import type { RunSummary } from "./summary.ts";

/**
 * Thrown by `runOnce` and `drain` when what they were to do came to no good end. By then nothing is under way: what was handled is settled,
 * the rest was given back.
 */
export class DrainError extends Error {
  override readonly name = "DrainError";
  /** `HANDLER_FAILED`: with `throwOnFailure`; `cause` is what the handler threw. `MAX_MESSAGES`: `maxMessages` were handled, and there was more. */
  readonly code: "HANDLER_FAILED" | "MAX_MESSAGES";
  /** What had become of the messages until then. */
  readonly summary: RunSummary;

  constructor(code: DrainError["code"], message: string, summary: RunSummary, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    this.summary = summary;
  }
}
