import type { Connection } from "pg";
import { Client } from "pg";
import { until } from "./until.ts";

/** A physical slot whose xmin holds the horizon, as a standby with hot_standby_feedback leaves it. */
export interface StandbySlot {
  /** The standby goes away, its slot stays. */
  leave(): Promise<void>;
  drop(): Promise<void>;
}

/** Streams from a server as a standby with a slot does, and reports the oldest transaction that it still needs. */
export async function holdBySlot(url: string, admin: Client): Promise<StandbySlot> {
  await admin.query("select pg_create_physical_replication_slot('standby', true)");
  const stream = await streamFrom(url, admin, "SLOT standby");
  await until(async () => {
    stream.report();
    const { rows } = await admin.query("select xmin from pg_replication_slots where slot_name = 'standby'");
    return rows[0].xmin !== null;
  }, "the slot has an xmin");
  const leave = async () => {
    stream.destroy();
    const active = "select from pg_replication_slots where slot_name = 'standby' and active";
    await until(async () => (await admin.query(active)).rowCount === 0, "the standby is gone");
  };
  return {
    leave,
    async drop() {
      await leave();
      await admin.query("select pg_drop_replication_slot('standby')");
    },
  };
}

/** The same without a slot: the sender itself holds the horizon, until the standby goes away. */
export async function holdByFeedback(url: string, admin: Client): Promise<{ leave(): Promise<void> }> {
  const stream = await streamFrom(url, admin, "");
  const held = "select from pg_stat_replication where backend_xmin is not null";
  await until(async () => {
    stream.report();
    return (await admin.query(held)).rowCount === 1;
  }, "the sender has an xmin");
  return {
    async leave() {
      stream.destroy();
      await until(
        async () => (await admin.query("select from pg_stat_replication")).rowCount === 0,
        "the standby is gone",
      );
    },
  };
}

/** Begins to stream. `report` sends one feedback, always the same. A server that is just beginning to stream may overlook it. */
async function streamFrom(url: string, admin: Client, slot: string): Promise<{ report(): void; destroy(): void }> {
  const { rows } = await admin.query(
    "select pg_current_wal_lsn()::text as lsn, pg_snapshot_xmin(pg_current_snapshot())::text as xmin",
  );
  const standby = new Client({ connectionString: url, replication: "true" } as ConstructorParameters<typeof Client>[0]);
  standby.on("error", () => undefined);
  await standby.connect();
  const { connection } = standby as unknown as { connection: Connection & { sendCopyFromChunk(chunk: Buffer): void } };
  const streaming = new Promise<void>((resolve) => connection.once("replicationStart", () => resolve()));
  const stream = standby.query(`START_REPLICATION ${slot} PHYSICAL ${rows[0].lsn}`);
  // it ends with the connection alone, or did not begin
  stream.catch(() => undefined);
  await Promise.race([streaming, stream]);
  return {
    report: () => connection.sendCopyFromChunk(feedback(BigInt(rows[0].xmin))),
    destroy: () => void connection.stream.destroy(),
  };
}

/** The message with which a standby says what it needs: time, xmin and its epoch, catalog xmin and its epoch. */
function feedback(xmin: bigint): Buffer {
  const message = Buffer.alloc(25);
  const since2000 = BigInt(Date.now() - Date.UTC(2000, 0, 1)) * 1000n;
  message.write("h");
  message.writeBigInt64BE(since2000, 1);
  message.writeUInt32BE(Number(xmin & 0xffffffffn), 9);
  message.writeUInt32BE(Number(xmin >> 32n), 13);
  return message;
}
