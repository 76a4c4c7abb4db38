import type { Message, Pgque, Queue } from "@pgque/client";
import { answered } from "../connection/answer.ts";
import { pause } from "../connection/pause.ts";
import type { Logger } from "../log.ts";

/** How often what handlers report is written. */
const intervalMs = 1000;

/** So much waits to be written at most; what comes then is lost. */
const waitingMax = 10_000;

/** What one statement takes. */
const atOnce = 1000;

type Report = Parameters<Pgque["runtime"]["reportProgress"]>[2][number];

/** What handlers report while they run, written once a second: of each message the latest progress, and lines of its log. */
export class Reports {
  readonly #progress = new Map<string, Report>();
  #lines: Report[] = [];

  progress({ id, attempt }: Message, value: string): void {
    this.#progress.set(id, { id, attempt, kind: "progress", value });
  }

  line({ id, attempt }: Message, value: string): void {
    if (this.#lines.length < waitingMax) this.#lines.push({ id, attempt, kind: "log", value });
  }

  /** Until the signal is aborted, and once more. Never rejects: what the database does not take is lost. */
  async keep(
    pgque: Pgque,
    queue: Queue,
    options: { consumer: string; queryTimeoutMs: number; log: Logger },
    over: AbortSignal,
  ): Promise<void> {
    while (!over.aborted) {
      await pause(intervalMs, over);
      await this.#write(pgque, queue, options).catch((error: unknown) =>
        options.log.debug("reporting progress failed", { error }),
      );
    }
  }

  async #write(
    pgque: Pgque,
    queue: Queue,
    { consumer, queryTimeoutMs }: { consumer: string; queryTimeoutMs: number },
  ): Promise<void> {
    const reports = [...this.#lines, ...this.#progress.values()];
    this.#lines = [];
    this.#progress.clear();
    for (let i = 0; i < reports.length; i += atOnce) {
      const some = reports.slice(i, i + atOnce);
      await answered(queryTimeoutMs, (signal) => pgque.runtime.reportProgress(queue, consumer, some, { signal }));
    }
  }
}
