import type { SqlClient } from "../client.ts";
import { type CatalogEntry, readCatalog } from "./catalog.ts";

/** A queue that is not, from whose catalog that of any other is written: tables, indexes and rights differ by numbers alone. */
const model = { id: 16383, segment: 0, name: "pgque validate" };

/** A queue that is there, and what is there of it. */
export interface Queue {
  id: number;
  name: string;
  /** Whether it has the tables and the index that `allow_cancel` takes. */
  allowCancel: boolean;
  /** How many segments its ring has: that of the highest number counts, whichever of them are missing. */
  segments: number;
  /** Who was given what of it by `grant_queue`. */
  grants: readonly { role: string; privilege: "send" | "receive" }[];
}

const tableOfSegment = /^relation (?:message|batch|outcome|cancelled)_\d+_(\d+)$/;
/** What only a queue with `allow_cancel` has: its cancellations, and the index of messages by id. */
const ofCancel = new RegExp(`cancelled_${model.id}|message_${model.id}(?:_${model.segment})?_id_idx`);
const rightOfFunction = /^right function (send|receive|ack|send_batch)_\d+\(.*?\) to (.*)$/s;

/** The queues, with what the catalog has of each. `roles`: those of the schema, whose rights are no grants of one queue. */
export function queuesIn(
  found: ReadonlyMap<string, CatalogEntry>,
  queues: readonly Pick<Queue, "id" | "name" | "allowCancel">[],
  roles: ReadonlySet<string>,
): Queue[] {
  const names = new Map<number, string[]>(queues.map(({ id }) => [id, []]));
  for (const { name, queueId } of found.values()) if (queueId !== null) names.get(queueId)?.push(name);
  return queues.map((queue) => {
    const own = names.get(queue.id) ?? [];
    const last = Math.max(2, ...own.map((name) => Number(tableOfSegment.exec(name)?.[1] ?? 0)));
    const grants = own.flatMap((name) => {
      const [, privilege, role] = rightOfFunction.exec(name) ?? [];
      if (role === undefined || role === "public" || roles.has(role)) return [];
      return privilege === "send" || privilege === "receive" ? [{ role, privilege } as const] : [];
    });
    return { ...queue, segments: last + 1, grants };
  });
}

/** Gives a new schema the model of a queue, and whoever has a grant of some queue one of the model. */
export async function createModel(client: SqlClient, quoted: string, queues: readonly Queue[]): Promise<void> {
  const { id, segment, name } = model;
  await client.query(`insert into ${quoted}.queue (id, name, migration, allow_cancel) values ($1, $2, 1, true)`, [
    id,
    name,
  ]);
  await client.query(`select ${quoted}.create_segment_parents($1)`, [id]);
  await client.query(`select ${quoted}.create_segment($1, $2)`, [id, segment]);
  await client.query(`select ${quoted}.generate_functions($1)`, [id]);
  await client.query(`select ${quoted}.grant_to_roles($1)`, [id]);
  const grants = new Map(queues.flatMap((queue) => queue.grants).map((one) => [JSON.stringify(one), one]));
  for (const { role, privilege } of grants.values())
    await client.query(`select ${quoted}.grant_queue($1, $2, $3)`, [name, role, privilege]);
}

/** What a schema has that is of no queue, and of each queue all but its functions, read from a new one with the model. */
export async function* readExpected(
  client: SqlClient,
  schema: string,
  queues: readonly Queue[],
  roles: ReadonlySet<string>,
): AsyncGenerator<CatalogEntry> {
  const ofModel: CatalogEntry[] = [];
  for (const entry of (await readCatalog(client, schema)).values()) {
    if (entry.queueId !== model.id) yield entry;
    else if (!entry.name.startsWith("function ")) ofModel.push(entry);
  }
  for (const queue of queues) for (const entry of ofModel) yield* written(entry, queue, roles);
}

/** An entry of the model as it ought to be of a queue: one, or one for each segment; none for who has no grant of this queue. */
function* written(entry: CatalogEntry, queue: Queue, roles: ReadonlySet<string>): Generator<CatalogEntry> {
  if (!queue.allowCancel && ofCancel.test(entry.name)) return;
  const [, kind, role] = rightOfFunction.exec(entry.name) ?? [];
  if (role !== undefined && !roles.has(role)) {
    const privilege = kind?.startsWith("send") ? "send" : "receive";
    if (!queue.grants.some((one) => one.role === role && one.privilege === privilege)) return;
  }
  const ofSegment = `_${model.id}_${model.segment}`;
  const segments = entry.name.includes(ofSegment) ? queue.segments : 1;
  for (let segment = 0; segment < segments; segment++) {
    const write = (text: string): string =>
      text
        .replaceAll(ofSegment, `_${queue.id}_${segment}`)
        .replaceAll(`_${model.id}`, `_${queue.id}`)
        .replace(`FOR VALUES IN ('${model.segment}')`, `FOR VALUES IN ('${segment}')`);
    yield { name: write(entry.name), definition: write(entry.definition), queueId: queue.id };
  }
}
