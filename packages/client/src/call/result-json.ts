import { PgqueError } from "../errors/errors.ts";
import { errorMessage } from "../options/checks.ts";
import { pathOf, NotJson, toJson } from "../payload/json.ts";

/** Also SQL's. */
const resultBytesMax = 1_048_576;
const stepBytesMax = 262_144;
const progressBytesMax = 8000;

/**
 * A result as it is kept; null: undefined, no result.
 *
 * @throws PgqueError PAYLOAD_NOT_JSON, INVALID_ARGUMENT when it is larger than a mebibyte
 */
export function resultJson(result: unknown): string | null {
  return boundedJson("result", result, resultBytesMax);
}

/** The same of a step, whose result has 256 KiB at most. */
export function stepJson(result: unknown): string | null {
  return boundedJson("result of a step", result, stepBytesMax);
}

/** The same of progress, of 8000 bytes at most; nothing is null. */
export function progressJson(value: unknown): string {
  return boundedJson("progress", value ?? null, progressBytesMax) as string;
}

function boundedJson(what: string, result: unknown, bytesMax: number): string | null {
  if (result === undefined) return null;
  const json = jsonOf(what, result);
  const bytes = Buffer.byteLength(json);
  if (bytes <= bytesMax) return json;
  throw new PgqueError(
    "INVALID_ARGUMENT",
    `expected the ${what} to have at most ${bytesMax} bytes as JSON, got: ${bytes}`,
    {
      hint: "Keep what is large elsewhere, and say here where",
    },
  );
}

function jsonOf(what: string, result: unknown): string {
  try {
    return toJson(result);
  } catch (error) {
    const path = error instanceof NotJson ? pathOf(error.path) : "";
    throw new PgqueError("PAYLOAD_NOT_JSON", `the ${what} is not JSON: ${path && `${path}: `}${errorMessage(error)}`, {
      cause: error,
    });
  }
}
