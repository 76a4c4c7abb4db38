import { deadline, pause } from "../connection/pause.ts";

/** What begins handlers in this process. */
export interface Member {
  /** Handlers that run, or are about to. */
  readonly active: number;
  /** How long the one that runs longest has, in milliseconds; null: none runs. */
  readonly oldestRunningMs: number | null;
  /** Others may begin again. */
  goOn(): void;
}

/** The time in which one suspect is handled and nothing else begins. */
export interface Stay {
  /** Whether nothing else is being handled. */
  readonly alone: boolean;
  end(): void;
}

const shortestPatienceMs = 10_000;
const longestPatienceMs = 300_000;
const foreverMs = 2 ** 31 - 1;

/**
 * Messages that came back from a lost lease are suspects: one of them may end its process. Here they are handled one at a time, with nothing beside
 * them in the whole process, so that its end names the message. A handler that runs for long keeps nobody waiting for longer than the suspect's
 * patience, and a suspect that takes longer than that nobody else: see sql/schema/settle/lost.sql.
 */
class Quarantine {
  readonly #members = new Set<Member>();
  #last: Promise<void> = Promise.resolve();
  #isClosed = false;
  #drained: (() => void) | undefined;

  join(member: Member): void {
    this.#members.add(member);
  }

  leave(member: Member): void {
    this.#members.delete(member);
  }

  /** Whether nothing but the suspect may begin. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** A handler has come to its end. */
  ended(): void {
    if (this.#drained !== undefined && this.#running === 0) this.#drained();
  }

  /** When it is this suspect's turn. Undefined: the signal was aborted before. */
  async enter(patienceMs: number, signal: AbortSignal): Promise<Stay | undefined> {
    const before = this.#last;
    let end = (): void => undefined;
    this.#last = new Promise((resolve) => (end = resolve));
    if (!(await deadline(foreverMs).reached(before, signal))) {
      // whoever is behind waits for those in front as before
      void before.then(end);
      return undefined;
    }
    this.#isClosed = true;
    if (this.#isWorthWaiting(patienceMs)) await this.#drain(patienceMs, signal);
    let isOver = false;
    const stay = {
      alone: this.#running === 0,
      end: () => {
        if (isOver) return;
        isOver = true;
        this.#isClosed = false;
        end();
        for (const member of this.#members) member.goOn();
      },
    };
    // beside others it holds up nobody
    if (signal.aborted || !stay.alone) stay.end();
    return signal.aborted ? undefined : stay;
  }

  get #running(): number {
    let running = 0;
    for (const member of this.#members) running += member.active;
    return running;
  }

  /** One that has run for longer than that may never end. */
  #isWorthWaiting(patienceMs: number): boolean {
    const oldestMs = Math.max(0, ...Array.from(this.#members, (member) => member.oldestRunningMs ?? 0));
    return this.#running > 0 && oldestMs < patienceMs;
  }

  async #drain(patienceMs: number, signal: AbortSignal): Promise<void> {
    const waiting = new AbortController();
    this.#drained = () => waiting.abort();
    await pause(patienceMs, AbortSignal.any([signal, waiting.signal]));
    this.#drained = undefined;
  }
}

/** Of this process. */
export const quarantine = new Quarantine();

/** How long to wait for others, and others for it: longer for one that has ended more processes, which may take long to do so. */
export function patienceMs({ crashes }: { crashes: number }): number {
  return Math.min(longestPatienceMs, shortestPatienceMs * 2 ** (crashes - 1));
}
