import { setTimeout as sleep } from "node:timers/promises";
import { Failure } from "../runner/failure.ts";
import type { Horizon, HorizonContext, Proof, Steps } from "./horizon.ts";
import { holdInSession, type HoldingSession } from "./session.ts";

/** As in PlanetScale, "Keeping a Postgres queue healthy" (2026). */
const querySecondsMax = 120;

/** Reports that follow one another: the horizon is never let go, it moves on in steps. */
export const analytics: Horizon = {
  name: "analytics",
  summary:
    `overlapping queries of ${querySecondsMax} s (of two thirds of the held phase where that is less than ${querySecondsMax * 1.5} s), each a REPEATABLE READ transaction: ` +
    "a new one begins when the one before is half way through, so that the horizon moves on in steps and is never let go",
  async hold(context) {
    const queries = new Queries(context, Math.min(querySecondsMax, (context.heldSeconds * 2) / 3));
    await queries.begin();
    return queries;
  },
};

interface Query {
  session: HoldingSession;
  /** Settles when the query has returned; never rejects. */
  over: Promise<void>;
  openedMs: number;
}

/** At least one is open at any time: an old one ends only after another session has seen the snapshot of the next one. */
class Queries {
  readonly #context: HorizonContext;
  readonly #stop = new AbortController();
  /** Those that hold, the oldest first. */
  readonly #open: Query[] = [];
  #relay: Promise<void> = Promise.resolve();
  readonly #steps: Steps;
  /** Why it did not hold all the time. */
  readonly #failure = new Failure();

  constructor(context: HorizonContext, querySeconds: number) {
    this.#context = context;
    this.#steps = { count: 0, querySeconds, xminAgeMin: null, ageSecondsMin: null };
  }

  async begin(): Promise<void> {
    await this.#openNext();
    this.#relay = this.#goOn().catch((error: unknown) => this.#failed("the queries did not go on", error));
  }

  async prove(): Promise<Proof> {
    const xminAge = await this.#oldestAge();
    await this.#failure.check();
    return { xminAge, steps: { ...this.#steps } };
  }

  async release(): Promise<void> {
    this.#stop.abort();
    await this.#endAll();
    await this.#relay;
    // what was just being opened
    await this.#endAll();
  }

  async #goOn(): Promise<void> {
    const { signal } = this.#stop;
    const halfMs = this.#steps.querySeconds * 500;
    await sleep(halfMs, undefined, { signal });
    for (;;) {
      await this.#openNext();
      // not before the next one is half through, however late it began: that is how old the oldest one is at least
      await sleep(halfMs, undefined, { signal });
      const [oldest] = this.#open;
      await oldest?.over;
      signal.throwIfAborted();
      this.#open.shift();
      await oldest?.session.release();
      await this.#stepDone();
    }
  }

  /** At no other time is the oldest one so young. */
  async #stepDone(): Promise<void> {
    const [oldest] = this.#open;
    const xminAge = await this.#oldestAge();
    const ageSeconds = (performance.now() - (oldest?.openedMs ?? 0)) / 1000;
    const steps = this.#steps;
    steps.count += 1;
    steps.xminAgeMin = Math.min(steps.xminAgeMin ?? xminAge, xminAge);
    steps.ageSecondsMin = Math.min(steps.ageSecondsMin ?? ageSeconds, ageSeconds);
  }

  async #openNext(): Promise<void> {
    const session = await holdInSession(this.#context, async (client) => {
      await client.query("begin isolation level repeatable read read only");
      await client.query("select 1");
    });
    const over = session.client.query("select pg_sleep($1)", [this.#steps.querySeconds]).then(
      () => undefined,
      (error: unknown) => this.#failed(`the query of session ${session.pid} broke off`, error),
    );
    this.#open.push({ session, over, openedMs: performance.now() });
  }

  /** Of the oldest one that is open, which may change while it is looked at. */
  async #oldestAge(): Promise<number> {
    for (;;) {
      const [oldest] = this.#open;
      if (oldest === undefined) throw new Error("no query is open");
      try {
        return await oldest.session.prove();
      } catch (error) {
        if (this.#open[0] === oldest) throw error;
      }
    }
  }

  #failed(what: string, error: unknown): void {
    if (this.#stop.signal.aborted) return;
    this.#failure.note(
      new Error(`${what}: ${error instanceof Error ? error.message : String(error)}`, { cause: error }),
    );
  }

  async #endAll(): Promise<void> {
    await Promise.all(this.#open.splice(0).map(({ session }) => session.breakOff()));
  }
}
