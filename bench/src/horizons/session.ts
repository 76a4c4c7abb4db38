import type pg from "pg";
import { heldFrom, type Held, type Look } from "./held.ts";
import type { Horizon, HorizonContext } from "./horizon.ts";

/** An idle session that holds once it has run these statements. */
export const heldBySession = (described: Pick<Horizon, "name" | "summary">, ...statements: string[]): Horizon => ({
  ...described,
  async hold(context) {
    const { prove, release } = await holdInSession(context, async (client) => {
      for (const statement of statements) await client.query(statement);
    });
    return { prove: async () => ({ xminAge: await prove() }), release };
  },
});

/** A session whose transaction holds. */
export interface HoldingSession extends Held {
  client: pg.Client;
  pid: number;
  /** Ends the session, which is idle. */
  release: () => Promise<void>;
  /** Ends the session, whatever it does just now. */
  breakOff: () => Promise<void>;
}

// Its transaction id, if it has one, is what holds: between statements of a READ COMMITTED transaction there is no snapshot.
const look = `
  select xact_start::text as identity, coalesce(backend_xid, backend_xmin)::text as xmin,
         age(coalesce(backend_xid, backend_xmin)) as age
    from pg_stat_activity
   where pid = $1`;

const backend = `
  select pid, extract(epoch from backend_start)::text as "startedAt" from pg_stat_activity where pid = pg_backend_pid()`;

/** Opens a session, lets it `begin` a transaction that holds, and looks at it from another one. */
export async function holdInSession(
  { connect, admin }: Pick<HorizonContext, "connect" | "admin">,
  begin: (client: pg.Client) => Promise<unknown>,
): Promise<HoldingSession> {
  const client = await connect("holder");
  try {
    const { rows } = await client.query<{ pid: number; startedAt: string }>(backend);
    const [{ pid, startedAt } = { pid: 0, startedAt: "" }] = rows;
    await begin(client);
    const held = await heldFrom(
      `the holder (session ${pid})`,
      async () => (await admin.query<Look>(look, [pid])).rows[0],
    );
    const release = async (): Promise<void> => {
      await client.end();
      await held.gone();
    };
    return {
      ...held,
      client,
      pid,
      release,
      async breakOff() {
        await admin.query(terminate, [pid, startedAt]);
        await release();
      },
    };
  } catch (error) {
    await client.end();
    throw error;
  }
}

// A statement that is under way would not notice that its client is gone. By its start, too: a process id may be another one's by now.
const terminate =
  "select pg_terminate_backend(pid) from pg_stat_activity where pid = $1 and extract(epoch from backend_start)::text = $2";
