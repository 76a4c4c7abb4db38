import { sanitizeLines } from "@pgque/client/redact";
import { json } from "./json.ts";
import type { Column } from "./table.ts";

/** `--json`: for a program. */
export interface JsonFlags {
  json?: true;
}

/** Who read standard output does so no more, as `head` when it has enough. */
export class OutputClosed extends Error {
  override readonly name = "OutputClosed";
}

/** What standard output goes into does not take it: a disk that is full, say. */
export class OutputFailed extends Error {
  override readonly name = "OutputFailed";

  constructor(cause: Error) {
    super(`could not write all to standard output: ${cause.message}`, { cause });
  }
}

/**
 * Writes a line, or several, to standard output; done when it is out.
 *
 * @throws OutputClosed, OutputFailed
 */
export function printLine(text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.write(`${text}\n`, (error: NodeJS.ErrnoException | null | undefined) => {
      if (!error) return resolve();
      // it closes after an error: what is written then fails by that alone
      const isGone = error.code === "EPIPE" || error.code === "ERR_STREAM_DESTROYED";
      reject(isGone ? new OutputClosed("standard output is closed", { cause: error }) : new OutputFailed(error));
    });
  });
}

/** Prints what was done: the value for a program, the sentence for a person. */
export function printResult(flags: JsonFlags, value: unknown, sentence: string): Promise<void> {
  return printLine(flags.json ? json(value) : sanitizeLines(sentence));
}

/** Prints whether a command changed something, of the thing with these names. */
export function printChange(
  flags: JsonFlags,
  names: object,
  changed: boolean,
  done: string,
  otherwise = "It is like that already.",
): Promise<void> {
  return printResult(flags, { ...names, changed }, changed ? done : otherwise);
}

/** Prints a list: one JSON array for a program, a table for a person, or a sentence when there is nothing in it. */
export async function printList<Row>(
  flags: JsonFlags,
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  empty: string,
): Promise<void> {
  if (flags.json || rows.length === 0) return printResult(flags, rows, empty);
  const { table } = await import("./table.ts");
  return printLine(table(columns, rows));
}
