import type pg from "pg";
import { Latencies, type LatencySummary } from "../../measure/histogram.ts";

const prefix = "pgque bench lock ";

/** In the notice, milliseconds: from the arrival of the statement to the request, and from there until it had the lock or gave up. */
interface LockNotice {
  askedMs: number;
  waitedMs: number;
  locked: boolean;
}

/** The engine's own rotation, with its lock timed from inside: a clock around the call would count its queries, too. */
export async function timeLocks(admin: pg.Client): Promise<void> {
  await admin.query(`
    alter function pgque.lock_segment(int, int) rename to lock_segment_untimed;
    create function pgque.lock_segment(queue_id int, segment int) returns boolean
    language plpgsql
    as $$
    declare
      asked constant timestamptz := clock_timestamp();
      locked constant boolean := pgque.lock_segment_untimed(queue_id, segment);
      got constant timestamptz := clock_timestamp();
    begin
      raise notice '${prefix}%', json_build_object(
        'askedMs', extract(epoch from asked - statement_timestamp()) * 1000,
        'waitedMs', extract(epoch from got - asked) * 1000,
        'locked', locked);
      return locked;
    end
    $$`);
}

/** Calls maintain() and keeps what its locks took. */
export class Rotator {
  readonly #client: pg.Client;
  readonly #waits = new Latencies();
  readonly #holds = new Latencies();
  #notices: LockNotice[] = [];
  rotations = 0;
  gaveUp = 0;

  constructor(client: pg.Client) {
    this.#client = client;
    client.on("notice", ({ message = "" }) => {
      if (message.startsWith(prefix)) this.#notices.push(JSON.parse(message.slice(prefix.length)));
    });
  }

  async rotate(): Promise<void> {
    this.#notices = [];
    const startMs = performance.now();
    await this.#client.query({ name: "maintain", text: "select pgque.maintain()" });
    const tookMs = performance.now() - startMs;
    for (const { askedMs, waitedMs, locked } of this.#notices) {
      this.#waits.record(waitedMs);
      if (locked) this.#holds.record(tookMs - askedMs - waitedMs);
      if (locked) this.rotations += 1;
      else this.gaveUp += 1;
    }
  }

  get waits(): LatencySummary | null {
    return this.#waits.summary();
  }

  get holds(): LatencySummary | null {
    return this.#holds.summary();
  }
}
