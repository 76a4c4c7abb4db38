import { PgqueError } from "../errors/errors.ts";
import { errorMessage } from "../options/checks.ts";
import { NotJson, toJson } from "../payload/json.ts";
import { pathOf } from "../payload/validate.ts";

/** Also SQL's. */
const resultBytesMax = 1_048_576;
const stepBytesMax = 262_144;

/**
 * A result as it is kept; null: undefined, no result.
 *
 * @throws PgqueError PAYLOAD_NOT_JSON, INVALID_ARGUMENT when it is larger than a mebibyte
 */
export function resultJson(result: unknown): string | null {
  return boundedJson(result, resultBytesMax);
}

/** The same of a step, whose result has 256 KiB at most. */
export function stepJson(result: unknown): string | null {
  return boundedJson(result, stepBytesMax);
}

function boundedJson(result: unknown, bytesMax: number): string | null {
  if (result === undefined) return null;
  const json = jsonOf(result);
  const bytes = Buffer.byteLength(json);
  if (bytes <= bytesMax) return json;
  throw new PgqueError(
    "INVALID_ARGUMENT",
    `expected the result to have at most ${bytesMax} bytes as JSON, got: ${bytes}`,
    {
      hint: "Keep what is large elsewhere, and make its place the result",
    },
  );
}

function jsonOf(result: unknown): string {
  try {
    return toJson(result);
  } catch (error) {
    const path = error instanceof NotJson ? pathOf(error.path) : "";
    throw new PgqueError("PAYLOAD_NOT_JSON", `the result is not JSON: ${path && `${path}: `}${errorMessage(error)}`, {
      cause: error,
    });
  }
}
