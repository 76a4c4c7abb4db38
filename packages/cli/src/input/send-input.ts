import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import type { Readable } from "node:stream";
import type { SendStreamOptions } from "@pgque/client";
import type { DatabaseFlags } from "../connection.ts";
import { withPgque } from "../database.ts";
import { UsageError } from "../output/failure.ts";
import { type JsonFlags, printResult } from "../output/print.ts";
import { progressBar } from "../output/progress.ts";
import { counted } from "../output/text.ts";
import { Stopped, stopRequested } from "../signals.ts";
import { parseJson } from "./json.ts";
import { type Line, linesOf } from "./lines.ts";

/** Which lines are sent: of standard input without a file, from the first on. */
export interface InputFlags extends DatabaseFlags, JsonFlags {
  file?: string;
  fromLine?: number;
}

/** How far a file or standard input has been sent. */
interface Sent {
  /** Lines have been asked for: the options are right. */
  hasBegun: boolean;
  messages: number;
  /** The last line of which the message is sent; 0: none. */
  line: number;
  /** Lines whose messages are on their way. */
  pending: Line[];
}

/**
 * Sends the lines of a file or of standard input, and prints how many.
 *
 * @throws Error which says how many were sent, what stopped it, and where to go on
 */
export async function sendInput(queue: string, flags: InputFlags, options: SendStreamOptions): Promise<void> {
  const fromLine = flags.fromLine ?? 1;
  if (fromLine < 1) throw new UsageError(`expected --from-line to be 1 or more, got: ${fromLine}`);
  const { stream, bytes } = await open(flags.file);
  // what has been read is still sent, so that it can say where to go on
  void stopRequested().then((signal) => stream.destroy(new Stopped(`stopped by ${signal}`, signal)));
  const sent: Sent = { hasBegun: false, messages: 0, line: 0, pending: [] };
  const progress = bytes === null ? await progressBar(null, "messages") : await progressBar(bytes, "bytes");
  try {
    await withPgque(flags, "writer", async (pgque) => {
      const onSent = ({ length }: readonly unknown[]): void => {
        const last = sent.pending.splice(0, length).at(-1);
        sent.messages += length;
        sent.line = last?.number ?? sent.line;
        progress.update(bytes === null ? sent.messages : (last?.bytesRead ?? 0));
      };
      // a line that is wrong is reported after what came before it has been sent: how far one may go on then is certain
      const wrong: { error?: unknown } = {};
      await pgque.sendStream(queue, payloads(stream, fromLine, sent, wrong), { ...options, onSent });
      if (wrong.error !== undefined) throw wrong.error;
    });
  } catch (error) {
    if (error instanceof UsageError && !sent.hasBegun) throw error;
    progress.stop();
    if (flags.json) await printResult(flags, resultOf(queue, sent), "");
    const message = `${(error as Error).message}. ${resumeHint(sent, fromLine, error)}`;
    if (error instanceof Stopped) throw new Stopped(message, error.signal);
    throw error instanceof UsageError ? new UsageError(message) : new Error(message, { cause: error });
  } finally {
    progress.stop();
  }
  await printResult(flags, resultOf(queue, sent), `Sent ${counted(sent.messages, "message")}.`);
}

const resultOf = (queue: string, { messages, line }: Sent) => ({ queue, sent: messages, lastLine: line || null });

async function* payloads(
  stream: AsyncIterable<Uint8Array>,
  fromLine: number,
  sent: Sent,
  wrong: { error?: unknown },
): AsyncGenerator<unknown, void> {
  sent.hasBegun = true;
  try {
    for await (const line of linesOf(stream)) {
      if (line.number < fromLine) continue;
      const payload = lineOf(line);
      sent.pending.push({ ...line, text: "" });
      yield payload;
    }
  } catch (error) {
    wrong.error = error;
  }
}

function lineOf({ text, number }: Line): unknown {
  try {
    return parseJson(text);
  } catch (error) {
    throw new UsageError(`expected a message in JSON on line ${number}, found: ${(error as Error).message}`);
  }
}

function resumeHint({ messages, line, pending }: Sent, fromLine: number, error: unknown): string {
  const [next] = pending;
  const known =
    messages === 0 ? "Nothing was sent" : `Sent before: ${counted(messages, "message")}, lines ${fromLine} to ${line}`;
  if ((error as { code?: unknown }).code === "CONNECTION_LOST" && next !== undefined) {
    return `${known}; whether those from line ${next.number} on were is not known: \`pgque tail\` shows the last ones`;
  }
  return messages === 0 ? known : `${known}. Go on with --from-line ${line + 1}`;
}

async function open(file: string | undefined): Promise<{ stream: Readable; bytes: number | null }> {
  if (file === undefined || file === "-") {
    if (!process.stdin.isTTY) return { stream: process.stdin, bytes: null };
    throw new UsageError("expected a payload, --file, or JSON lines on standard input, got none");
  }
  const found = await stat(file).catch((error: NodeJS.ErrnoException) => {
    throw new UsageError(
      `expected a file at ${JSON.stringify(file)}, found: ${error.code === "ENOENT" ? "nothing there" : error.message}`,
    );
  });
  if (found.isDirectory()) throw new UsageError(`expected a file at ${JSON.stringify(file)}, found: a folder`);
  return { stream: createReadStream(file), bytes: found.isFile() ? found.size : null };
}
