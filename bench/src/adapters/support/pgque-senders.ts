import { defineQueue, Pgque, type PgqueOptions } from "@pgque/client";
import type { Described, Group, Sender } from "../adapter.ts";
import { ratio } from "../../report/format.ts";
import { atLeast } from "../../runner/target.ts";
import { peer } from "./library.ts";
import { rowsIn } from "./pg-store.ts";
import { queue, typedQueue } from "./pgque-queue.ts";

/** One message by `send`, others by `sendMany`. */
export const sendingTo =
  (pgque: Pgque, to = typedQueue) =>
  ([first, ...others]: readonly unknown[]): Promise<unknown> =>
    others.length === 0 ? pgque.send(to, first) : pgque.sendMany(to, [first, ...others]);

function sender(group: Group, described: Described, options: PgqueOptions = {}, to = async () => typedQueue): Sender {
  return {
    group,
    ...described,
    open: async ({ pool, admin }) => ({
      send: sendingTo(new Pgque(pool, options), await to()),
      stored: () => rowsIn(admin, "pgque.message_1"),
    }),
  };
}

export const senders: Sender[] = [
  sender("many", {
    name: "pgque",
    summary: "`sendMany` of @pgque/client, to a queue without a schema",
    settings: ["prepared, as by default on direct connections; for so many messages that is nothing that counts"],
  }),
  sender(
    "many",
    {
      name: "pgque-zod",
      summary: "the same, and a zod schema checks every payload as it is sent",
      settings: ["the schema names every field; what it checks is parsed from the JSON that is sent"],
    },
    {},
    async () => defineQueue(queue, { payload: await orderSchema() }),
  ),
  sender("one", {
    name: "pgque",
    summary: "`send` of @pgque/client",
    settings: ["prepared, as by default on direct connections, and as the INSERT is"],
    target: atLeast(0.85, ratio),
  }),
  sender(
    "one",
    {
      name: "pgque-unprepared",
      summary: "`send` of @pgque/client, not prepared",
      settings: ["prepare is off, as it is behind a pooler and in the caller's transaction"],
      target: atLeast(0.8, ratio),
    },
    { prepare: false },
  ),
];

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
