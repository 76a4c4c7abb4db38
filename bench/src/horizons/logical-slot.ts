import type pg from "pg";
import { heldFrom } from "./held.ts";
import type { Horizon } from "./horizon.ts";
import { needsSlot, uniqueName, lookAtSlot, retainedWalBytes } from "./cluster.ts";
import { unheldFrom } from "./oldest-holder.ts";

/**
 * What a CDC connector leaves behind that is switched off. It holds the system catalogs and the WAL, and not the tables: the null result
 * among the horizons. It proves both, that it holds the one and that nobody holds the other.
 */
export const logicalSlot: Horizon = {
  name: "logical-slot",
  inWords: "a logical slot that nobody reads (logical-slot)",
  summary:
    "a logical replication slot that nobody reads. It holds back the system catalogs and keeps WAL; user tables are vacuumed as always, so that no " +
    "queue suffers is what is expected: see the dead catalog rows and the retained WAL",
  serverSettings: { wal_level: "logical" },
  check: ({ admin }) => needsSlot(admin, ["logical"]),
  async hold({ connect, admin }) {
    const client = await connect("holder");
    try {
      const slotName = await createSlot(client);
      const held = await heldFrom(`the logical slot ${slotName}`, lookAtSlot(admin, slotName, "catalog_xmin"));
      const ageUnheld = await unheldFrom(admin);
      return {
        prove: async () => ({
          xminAge: await ageUnheld(),
          catalogXminAge: await held.prove(),
          retainedWalBytes: await retainedWalBytes(admin, slotName),
        }),
        async release() {
          await client.end();
          await held.gone();
        },
      };
    } catch (error) {
      await client.end();
      throw error;
    }
  },
};

/** A temporary one: it goes with the session, also when this process is killed. */
async function createSlot(client: pg.Client): Promise<string> {
  const name = uniqueName();
  // it waits for every transaction that is open and has written, in whichever database
  await client.query("set statement_timeout = '60s'");
  await client.query("select pg_create_logical_replication_slot($1, 'pgoutput', true)", [name]);
  return name;
}
