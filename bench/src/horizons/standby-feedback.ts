import { once } from "node:events";
import type { Socket } from "node:net";
import { Client, type Connection } from "pg";
import { NotRun } from "../runner/failure.ts";
import { holderOf } from "./held.ts";
import type { Horizon } from "./horizon.ts";
import { atLeastOne, needsSetting, needsSlot, lookAtSlot, uniqueName } from "./cluster.ts";

/** invalid_authorization_specification: what pg_hba.conf refuses. */
const refused = "28000";

/** What a standby with hot_standby_feedback does while a long query runs on it. */
export const standbyFeedback: Horizon = {
  name: "standby-feedback",
  summary:
    "a physical replication slot whose standby reports, by hot standby feedback, that a query on it still needs old row versions; the standby is a " +
    "client that speaks the replication protocol and throws the WAL away, so no session of this server has a snapshot",
  check: ({ admin }) => needsStandby(admin),
  async hold({ url, admin }) {
    const standby = await joinStandby(url, await oldestOpen(admin));
    return holderOf({
      who: `the standby's slot ${standby.slotName}`,
      look: lookAtSlot(admin, standby.slotName, "xmin"),
      letGo: standby.leave,
      otherwise: "the server took no notice of the standby's feedback",
    });
  },
};

/** @throws NotRun when the server takes no standby */
export async function needsStandby(admin: Client): Promise<void> {
  await needsSlot(admin, ["replica", "logical"]);
  await needsSetting(admin, "max_wal_senders", atLeastOne);
}

/** The oldest transaction that is under way: what a query that begins now on a standby would need. */
export async function oldestOpen(admin: Client): Promise<bigint> {
  const { rows } = await admin.query<{ xmin: string }>("select pg_snapshot_xmin(pg_current_snapshot())::text as xmin");
  return BigInt(rows[0]?.xmin ?? 0);
}

/** Somebody who streams from the server as a standby does, and reports which transactions it still needs. */
export interface Standby {
  /** A temporary one: it goes with the connection, also when this process is killed. */
  slotName: string;
  /** From now on it needs what there is since `xmin` only. The server takes no notice of one that is older than the last. */
  moveTo(xmin: bigint): void;
  leave: () => Promise<void>;
}

/** A standby reports every ten seconds unless configured otherwise; a sender that hears nothing for a minute ends the connection. */
const reportEveryMs = 1000;

/**
 * Connects as a standby with `hot_standby_feedback` whose oldest query needs everything since `xmin`. It does not say how far it has come: it must not
 * count for `synchronous_standby_names`, and the server need not keep WAL for it.
 *
 * @param takesWal whether it takes the WAL, and throws it away. A sender whose WAL nobody takes waits, and hears reports all the same.
 * @throws NotRun when the server lets no standby in
 */
export async function joinStandby(url: string, xmin: bigint, { takesWal = true } = {}): Promise<Standby> {
  const slotName = uniqueName();
  const client = new Client({ connectionString: url, application_name: "pgque bench holder", ...physicalReplication });
  // what becomes of it shows in its slot
  client.on("error", () => undefined);
  await client.connect().catch((error: Error & { code?: string }) => {
    if (error.code !== refused) throw error;
    throw new NotRun(`the server takes no replication connection from here: ${error.message}`);
  });
  try {
    await client.query(`CREATE_REPLICATION_SLOT ${slotName} TEMPORARY PHYSICAL`);
    const { rows } = await client.query<{ xlogpos: string }>("IDENTIFY_SYSTEM");
    const { connection } = client as unknown as { connection: Connection & Streaming };
    const started = once(connection, "replicationStart");
    const stream = client.query(`START_REPLICATION SLOT ${slotName} PHYSICAL ${rows[0]?.xlogpos}`);
    // a stream ends with its connection alone, or did not begin
    stream.catch(() => undefined);
    await Promise.race([started, stream]);
    if (!takesWal) connection.stream.pause();
    let needed = xmin;
    const report = (): unknown => connection.sendCopyFromChunk(feedback(needed));
    report();
    const reporting = setInterval(report, reportEveryMs);
    return {
      slotName,
      moveTo(moved) {
        needed = moved;
        report();
      },
      async leave() {
        clearInterval(reporting);
        // the end of a connection is seen by those who read
        connection.stream.resume();
        await client.end();
      },
    };
  } catch (error) {
    await client.end();
    throw error;
  }
}

/** What node-postgres passes on to the server, and has no type for. */
const physicalReplication = { replication: "true" } as object;

/** What node-postgres has for COPY, and no type for. */
interface Streaming {
  stream: Socket;
  sendCopyFromChunk(chunk: Buffer): void;
}

/** Hot standby feedback: when, the oldest transaction needed and its epoch, the same of the catalogs, of which it needs none. */
function feedback(xmin: bigint): Buffer {
  const message = Buffer.alloc(25);
  const microsecondsSince2000 = BigInt(Date.now() - Date.UTC(2000, 0, 1)) * 1000n;
  message.write("h");
  message.writeBigInt64BE(microsecondsSince2000, 1);
  message.writeUInt32BE(Number(xmin & 0xffffffffn), 9);
  message.writeUInt32BE(Number(xmin >> 32n), 13);
  return message;
}
