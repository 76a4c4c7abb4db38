import type { Connection } from "pg";
import { Client } from "pg";
import { until } from "./until.ts";

/** A physical slot whose xmin holds the horizon, as a standby with hot_standby_feedback leaves it. */
export interface StandbySlot {
  drop(): Promise<void>;
}

/** Streams from a server as a standby does, and reports the oldest transaction that it still needs. */
export async function holdBySlot(url: string, admin: Client): Promise<StandbySlot> {
  const { rows } = await admin.query(
    `select pg_create_physical_replication_slot('standby', true), pg_current_wal_lsn()::text as lsn,
            pg_snapshot_xmin(pg_current_snapshot())::text as xmin`,
  );
  const standby = new Client({ connectionString: url, replication: "true" } as ConstructorParameters<typeof Client>[0]);
  standby.on("error", () => undefined);
  await standby.connect();
  const { connection } = standby as unknown as { connection: Connection & { sendCopyFromChunk(chunk: Buffer): void } };
  const streaming = new Promise<void>((resolve) => connection.once("replicationStart", () => resolve()));
  const stream = standby.query(`START_REPLICATION SLOT standby PHYSICAL ${rows[0].lsn}`);
  // it ends with the connection alone, or did not begin
  stream.catch(() => undefined);
  await Promise.race([streaming, stream]);
  connection.sendCopyFromChunk(feedback(BigInt(rows[0].xmin)));
  await until(
    async () =>
      (await admin.query("select xmin from pg_replication_slots where slot_name = 'standby'")).rows[0].xmin !== null,
    "the slot has an xmin",
  );
  return {
    async drop() {
      connection.stream.destroy();
      const active = "select from pg_replication_slots where slot_name = 'standby' and active";
      await until(async () => (await admin.query(active)).rowCount === 0, "the standby is gone");
      await admin.query("select pg_drop_replication_slot('standby')");
    },
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
