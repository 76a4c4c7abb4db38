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

const target = atLeast(0.75, ratio);

export const senders: Sender[] = [
  sender("many", {
    name: "pgque",
    summary: "`sendMany` of @pgque/client, to a queue without a schema",
    settings: ["prepare is off, its default: a statement for so many messages is parsed for nothing that counts"],
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
    settings: ["prepare is off, its default: behind a pooler, statements cannot be prepared"],
    target,
  }),
  sender(
    "one",
    {
      name: "pgque-prepared",
      summary: "`send` of @pgque/client, prepared",
      settings: ["prepare is on, as advised for direct connections, and as the INSERT is"],
      target,
    },
    { prepare: true },
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
