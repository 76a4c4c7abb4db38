import { bullmq, bullmqAof } from "./bullmq.ts";
import { graphileWorker } from "./graphile-worker.ts";
import { pgqueMany, pgqueOne, pgquePrepared, pgqueZod } from "./pgque.ts";
import { copy, insertMany, insertOne } from "./raw.ts";
import type { Group, Sender } from "./sender.ts";

/** In the order of the tables. */
export const senders: Sender[] = [
  pgqueMany,
  pgqueZod,
  copy,
  insertMany,
  graphileWorker,
  bullmq,
  bullmqAof,
  pgqueOne,
  pgquePrepared,
  insertOne,
];

export const senderNames = [...new Set(senders.map(({ name }) => name))];

/** What the others of a group are compared with. */
export const reference: Record<Group, string> = { many: "pgque", one: "insert" };

export function senderNamed(group: Group, name: string): Sender {
  const found = senders.find((sender) => sender.group === group && sender.name === name);
  if (found === undefined) throw new Error(`there is no sender ${name} of ${group}`);
  return found;
}
