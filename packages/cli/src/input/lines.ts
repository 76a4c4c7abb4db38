import { UsageError } from "../output/failure.ts";

/** A line of a file, counted from 1. */
export interface Line {
  number: number;
  text: string;
  /** How many bytes have been read when it is handed out. */
  bytesRead: number;
}

/**
 * The lines of a stream, without those that are blank. A line may be as long as memory allows.
 *
 * @throws UsageError when it is not UTF-8, with the line
 */
export async function* linesOf(stream: AsyncIterable<Uint8Array>): AsyncGenerator<Line, void> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let pieces: string[] = [];
  let number = 0;
  let bytesRead = 0;
  const decode = (chunk?: Uint8Array): string => {
    try {
      return chunk === undefined ? decoder.decode() : decoder.decode(chunk, { stream: true });
    } catch (cause) {
      throw new UsageError(`expected UTF-8, found other bytes on or soon after line ${number + 1}`, { cause });
    }
  };
  for await (const chunk of stream) {
    bytesRead += chunk.byteLength;
    const [rest = "", ...begun] = decode(chunk).split("\n");
    pieces.push(rest);
    for (const text of begun) {
      const line = pieces.join("");
      pieces = [text];
      number += 1;
      if (line.trim() !== "") yield { number, text: line, bytesRead };
    }
  }
  const last = pieces.join("") + decode();
  if (last.trim() !== "") yield { number: number + 1, text: last, bytesRead };
}
