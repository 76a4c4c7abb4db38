import { defineQueue, Pgque } from "@pgque/client";
import type { Sender, SendSite } from "../adapter.ts";
import { ratio } from "../../report/format.ts";
import { atLeast } from "../../scenario/target.ts";
import { peer } from "./peer.ts";
import { rowsIn } from "./pg-store.ts";
import { queue, typedQueue } from "./pgque-queue.ts";

const stored = ({ admin }: SendSite) => rowsIn(admin, "pgque.message_1");

export const sendMany: Sender = {
  name: "pgque",
  group: "many",
  summary: "`sendMany` of @pgque/client, to a queue without a schema",
  settings: ["prepare is off, its default: a statement for so many messages is parsed for nothing that counts"],
  open: async (site) => {
    const pgque = new Pgque(site.pool);
    return { send: (payloads) => pgque.sendMany(typedQueue, payloads), stored: () => stored(site) };
  },
};

export const sendZod: Sender = {
  name: "pgque-zod",
  group: "many",
  summary: "the same, and a zod schema checks every payload as it is sent",
  settings: ["the schema names every field; what it checks is parsed from the JSON that is sent"],
  open: async (site) => {
    const pgque = new Pgque(site.pool);
    const typed = defineQueue(queue, { payload: await orderSchema() });
    return { send: (payloads) => pgque.sendMany(typed, payloads), stored: () => stored(site) };
  },
};

export const sendOne: Sender = one("pgque", false, "`send` of @pgque/client", [
  "prepare is off, its default: behind a pooler, statements cannot be prepared",
]);

export const sendPrepared: Sender = one("pgque-prepared", true, "`send` of @pgque/client, prepared", [
  "prepare is on, as advised for direct connections, and as the INSERT is",
]);

function one(senderName: string, prepare: boolean, summary: string, settings: string[]): Sender {
  return {
    name: senderName,
    group: "one",
    summary,
    settings,
    target: atLeast(0.75, ratio),
    open: async (site) => {
      const pgque = new Pgque(site.pool, { prepare });
      return {
        send: ([payload]) => pgque.send(typedQueue, payload),
        stored: () => stored(site),
      };
    },
  };
}

async function orderSchema() {
  const { z } = await peer(["zod@4"], () => import("zod"));
  const line = z.object({ sku: z.string(), quantity: z.int(), price: z.number() });
  return z.object({
    order: z.int(),
    customer: z.string(),
    currency: z.string(),
    lines: z.array(line),
  });
}
