import type { Client } from "pg";
import type { Holder } from "@pgque/client/horizon";

/** One transaction of one session. A process id is used again, and a session has many transactions: all three say which one it is. */
export interface Target {
  pid: number;
  backendStart: string;
  xactStart: string;
}

/** How a transaction is ended: its statement alone, or the session with it. */
export type Signal = "cancel" | "terminate";

/** Which transaction a holder is; undefined where this role is not shown its times. */
export function targetOf({ kind, details }: Holder): Target | undefined {
  const { pid, backendStart, xactStart } = details;
  if (kind !== "transaction" || typeof backendStart !== "string" || typeof xactStart !== "string") return undefined;
  return { pid: Number(pid), backendStart, xactStart };
}

/** The name of a transaction among those of a server. */
export function keyOf({ pid, backendStart, xactStart }: Target): string {
  return `${pid} ${backendStart} ${xactStart}`;
}

/**
 * Cancels or terminates a transaction if it is still that one and still holds the horizon: looked at and done in one statement, so that
 * nobody else is hit. False: it is over, nothing was done.
 *
 * @throws Error with code 42501 when this role may not
 */
export async function signalTransaction(client: Client, target: Target, signal: Signal): Promise<boolean> {
  const { rows } = await client.query<{ done: boolean }>(
    `select pg_${signal}_backend(a.pid) as done
       from pg_stat_activity a
      where a.pid = $1
        and extract(epoch from a.backend_start) = $2::numeric
        and extract(epoch from a.xact_start) = $3::numeric
        and (a.backend_xmin is not null or a.backend_xid is not null)
        and a.pid <> pg_backend_pid()`,
    [target.pid, target.backendStart, target.xactStart],
  );
  return rows[0]?.done ?? false;
}
