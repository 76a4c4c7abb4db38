import { openSync, readdirSync, readSync, writeSync } from "node:fs";
import path from "node:path";

/** What happened to a message, or what a process said. */
export interface Entry {
  /**
   * sending: is about to be sent; nothing more of it, and its fate is not known. sent: its commit was answered. undone: its transaction was
   * rolled back. refused: the database was not reached, or did not take it. begun, handled: a handler was called, and was done with it.
   * said: a line of a worker's log. heap: bytes on the heap of a worker, after a full collection, before its first message and after its last.
   */
  kind: "sending" | "sent" | "undone" | "refused" | "begun" | "handled" | "said" | "heap";
  /** Which message, as `key/number`; of a log line its text. */
  what: string;
  /** Of a message that was handled, or of the worker that says something. */
  consumer?: string;
  /** The process. */
  pid: number;
  /** When, by a clock that all processes of the machine share and nobody sets, in ns. */
  at: number;
}

/** What a message is called in a ledger: its payload, and for that of a schedule also the time and which message was sent for it. */
export function whatOf(payload: unknown, id: string, headers: Record<string, unknown>): string {
  const { run_at: runAt } = headers;
  return typeof runAt === "string" ? `${String(payload)}/${Date.parse(runAt) / 1000}/${id}` : String(payload);
}

export type Note = (kind: Entry["kind"], what: string, consumer?: string) => void;

/** Appends to a file of this process, a line in one write: what was written is there although the process is killed. */
export function ledgerOfProcess(folder: string): Note {
  const file = openSync(path.join(folder, `${process.pid}.jsonl`), "a");
  return (kind, what, consumer) => {
    const entry: Entry = { kind, what, ...(consumer && { consumer }), pid: process.pid, at: now() };
    writeSync(file, `${JSON.stringify(entry)}\n`);
  };
}

/** How a process ends that was given the message "poison". */
export const poisoned = 7;

export const now = (): number => Number(process.hrtime.bigint());

/** The files of all processes, read as they grow. */
export class Ledger {
  readonly entries: Entry[] = [];
  readonly #folder: string;
  readonly #files = new Map<string, { descriptor: number; rest: string }>();

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Reads what has been written since, and returns everything. */
  read(): readonly Entry[] {
    for (const name of readdirSync(this.#folder)) {
      if (!name.endsWith(".jsonl")) continue;
      const file = this.#files.get(name) ?? { descriptor: openSync(path.join(this.#folder, name), "r"), rest: "" };
      this.#files.set(name, file);
      const chunk = Buffer.alloc(65_536);
      for (let bytes = readSync(file.descriptor, chunk); bytes > 0; bytes = readSync(file.descriptor, chunk))
        file.rest += chunk.toString("latin1", 0, bytes);
      const lines = file.rest.split("\n");
      file.rest = lines.pop() ?? "";
      for (const line of lines) this.entries.push(JSON.parse(line));
    }
    return this.entries;
  }

  /** How many entries of a kind there are. */
  count(kind: Entry["kind"], about: Partial<Entry> = {}): number {
    const fields = Object.entries(about) as [keyof Entry, unknown][];
    return this.read().filter((entry) => entry.kind === kind && fields.every(([name, value]) => entry[name] === value))
      .length;
  }
}
