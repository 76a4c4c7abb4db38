import type pg from "pg";
import { until } from "../../horizons/held.ts";
import { Child } from "../../runner/child.ts";
import type { TpcbMethods, TpcbRun } from "./process.ts";
import {
  historyRows,
  prepareTpcb,
  sessionsGone,
  tpcbCounts,
  updatedTables,
  type TpcbCounts,
  type UpdatedTable,
} from "./tables.ts";

/** pgbench's TPC-B-like load, by clients in a process of their own. */
export class Tpcb {
  readonly #admin: pg.Client;
  readonly #child = new Child<TpcbMethods>(new URL("./process.js", import.meta.url));
  #before: TpcbCounts | null = null;

  private constructor(admin: pg.Client) {
    this.#admin = admin;
  }

  /** Makes the tables and connects. */
  static async open(admin: pg.Client, options: { url: string; clients: number; scale: number }): Promise<Tpcb> {
    await prepareTpcb(admin, options.scale);
    const tpcb = new Tpcb(admin);
    try {
      await tpcb.#child.call("open", options);
      tpcb.#before = await tpcbCounts(admin);
    } catch (error) {
      await tpcb.close();
      throw error;
    }
    return tpcb;
  }

  /** Once. Rejects at once when it is stopped. */
  async run(seconds: number, signal: AbortSignal): Promise<TpcbRun> {
    signal.throwIfAborted();
    const stop = (): void => void this.close();
    signal.addEventListener("abort", stop, { once: true });
    try {
      return await this.#child.call("run", { seconds });
    } finally {
      signal.removeEventListener("abort", stop);
    }
  }

  /** Ends the connections. Throws when the history has not a row for every transaction. */
  async counts({ transactions }: TpcbRun): Promise<TpcbCounts> {
    await this.#child.call("close");
    const rows = await historyRows(this.#admin);
    if (rows !== transactions)
      throw new Error(`expected ${transactions} rows in the history, one a transaction, found ${rows}`);
    let after = await tpcbCounts(this.#admin);
    await until(async () => {
      const gone = await sessionsGone(this.#admin);
      after = await tpcbCounts(this.#admin);
      return gone && updatedTables.every((name) => after[name].updates >= transactions);
    }, "the sessions that have ended have not handed in what they counted");
    return difference(this.#before, after);
  }

  async close(): Promise<void> {
    await this.#child.stop();
  }
}

/** In each table what was counted since. */
function difference(before: TpcbCounts | null, after: TpcbCounts): TpcbCounts {
  const since = (name: UpdatedTable): TpcbCounts[UpdatedTable] => {
    const counted = Object.entries(after[name]).map(([key, count]) => {
      const figure = key as keyof TpcbCounts[UpdatedTable];
      return [figure, count - (before?.[name][figure] ?? 0)];
    });
    return Object.fromEntries(counted) as TpcbCounts[UpdatedTable];
  };
  return Object.fromEntries(updatedTables.map((name) => [name, since(name)])) as TpcbCounts;
}
