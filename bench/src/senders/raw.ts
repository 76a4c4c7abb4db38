import { finished } from "node:stream/promises";
import { from as copyFrom } from "pg-copy-streams";
import type { Order } from "../load/order.ts";
import { copyTable, rawInsert, rawInsertMany } from "./raw-table.ts";
import { rowsIn } from "./rows-in.ts";
import type { Sender, Site } from "./sender.ts";

const type = "default";
const stored = ({ admin }: Site) => rowsIn(admin, "raw.message");

export const copy: Sender = {
  name: "copy",
  group: "many",
  summary: "COPY by hand into the plain table: the least that storing these rows takes",
  settings: [
    "pg-copy-streams, text format, one COPY a call, all lines in one write: nothing is faster with this driver",
    "defaults of its table are nextval() and now() alone, so that COPY fills pages; it returns no ids",
  ],
  async open({ admin, pool }) {
    await admin.query(copyTable);
    return {
      stored: () => rowsIn(admin, "raw.copied"),
      send: async (payloads) => {
        const client = await pool.connect();
        try {
          const stream = client.query(copyFrom("copy raw.copied (type, payload) from stdin"));
          stream.end(payloads.map(copyLine).join(""));
          await finished(stream);
        } finally {
          client.release();
        }
      },
    };
  },
};

/** JSON has no raw tabs and line ends; a backslash is the one character of it that the format knows. */
function copyLine(payload: Order): string {
  return `${type}\t${JSON.stringify(payload).replaceAll("\\", "\\\\")}\n`;
}

export const insertMany: Sender = {
  name: "insert",
  group: "many",
  summary: "INSERT … SELECT FROM unnest by hand into the plain table, which returns the ids",
  settings: [
    "what `sendMany` does without a queue: between it and COPY lies the protocol, between it and pgque the queue",
  ],
  open: async (site) => ({
    stored: () => stored(site),
    send: async (payloads) => {
      const values = [type, payloads.map((payload) => JSON.stringify(payload))];
      const { rows } = await site.pool.query<{ ids: string }>(rawInsertMany, values);
      return rows[0]?.ids.split(",").map(BigInt);
    },
  }),
};

export const insertOne: Sender = {
  name: "insert",
  group: "one",
  summary: "a prepared INSERT of the same row into the plain table",
  settings: ["on a pool of pg, as the client is"],
  open: async (site) => ({
    stored: () => stored(site),
    send: ([payload]) => site.pool.query({ ...rawInsert, values: [type, JSON.stringify(payload)] }),
  }),
};
