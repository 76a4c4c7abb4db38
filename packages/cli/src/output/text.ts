import { sanitize } from "@pgque/client/redact";

/** The beginning of a text that is too long for a table. */
export function shortened(text: string, charsMax = 60): string {
  if (text.length <= charsMax) return text;
  // not in the middle of a surrogate pair
  return `${text.slice(0, charsMax - 1).replace(/[\uD800-\uDBFF]$/, "")}…`;
}

/** A thing by its names: `queue "orders"`, `consumer "billing" of queue "orders"`, `schedule "nightly"`. */
export function described(names: { schedule?: string; consumer?: string | null; queue?: string | null }): string {
  const kinds = ["schedule", "consumer", "queue"] as const;
  return kinds
    .filter((kind) => names[kind] !== undefined && names[kind] !== null)
    .map((kind) => `${kind} ${JSON.stringify(names[kind])}`)
    .join(" of ");
}

/** What an error says, without the stack that its reason may go on with. */
export function firstLine(text: string): string {
  return text.split("\n", 1)[0]?.trimEnd() ?? "";
}

/** "1 message", "2 messages", "1,000 messages". */
export function counted(count: number, noun: string, plural = `${noun}s`): string {
  return `${showCount(count)} ${count === 1 ? noun : plural}`;
}

/** A number with its thousands apart, and nothing behind the point. */
export function showCount(count: number): string {
  return count.toLocaleString("en-US", { maximumFractionDigits: 0 });
}

/** A number that may be an estimate. */
export const showEstimate = (count: number | string, estimated: boolean): string => `${estimated ? "≈" : ""}${count}`;

/** A size in bytes, for a person. */
export function showBytes(bytes: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  const power = Math.min(units.length - 1, bytes < 1 ? 0 : Math.floor(Math.log2(bytes) / 10));
  const value = bytes / 1024 ** power;
  return `${value.toFixed(power === 0 || value >= 100 ? 0 : 1)} ${units[power]}`;
}

/** A time, to the second. */
export function showTime(time: Date | null): string | null {
  return time && time.toISOString().replace(/\.\d+Z$/, "Z");
}

/** As an argument for a shell: quoted when it has to be. */
export function shellWord(text: string): string {
  const shown = sanitize(text);
  // bash and zsh read the escapes between these
  if (shown !== text) return `$'${sanitize(text.replaceAll(/[\\']/g, String.raw`\$&`))}'`;
  return /^[\w./:@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
