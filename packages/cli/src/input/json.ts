/** A text that is not JSON. */
export class NotJsonText extends Error {
  override readonly name = "NotJsonText";
}

/**
 * The value of a JSON text. A number that JavaScript cannot hold, an id of twenty digits say, stays as it was written and is sent so.
 *
 * @throws NotJsonText
 */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text, exactNumber);
  } catch (cause) {
    throw new NotJsonText(`${shown(text)}, which is not JSON`, { cause });
  }
}

interface Json {
  rawJSON(text: string): unknown;
}

function exactNumber(_name: string, value: unknown, context?: { source?: string }): unknown {
  const source = context?.source;
  if (typeof value !== "number" || source === undefined || isExact(value, source)) return value;
  return (JSON as unknown as Json).rawJSON(source);
}

/** "1.0" and "1e2" mean what the number does; more digits than it has do not. */
function isExact(value: number, source: string): boolean {
  if (String(value) === source) return true;
  const digits = source
    .replace(/e.*$/i, "")
    .replace(/^-?[0.]*/, "")
    .replace(".", "")
    .replace(/0+$/, "");
  return Number.isFinite(value) && digits.length <= 15;
}

function shown(text: string): string {
  const begin = text.trim().slice(0, 60);
  return JSON.stringify(begin.length < text.trim().length ? `${begin}…` : begin);
}
