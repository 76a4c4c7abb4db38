import type { TestDatabase } from "../../../test/support/database.ts";
import { Tally } from "#src/load/tally";
import type { System, Workload } from "#src/adapters/adapter";
import { noSqlFiles } from "../delivery.ts";

/** With one producer and one consumer, whose batches are of ten. */
export async function openSystem(system: System, database: TestDatabase, own: Partial<Workload> = {}) {
  const admin = await database.connect();
  const running = await system.open({
    admin,
    connect: () => database.connect(),
    url: database.url,
    tally: new Tally(),
    producers: 1,
    consumers: 1,
    batch: 10,
    sendBatch: 1,
    idlePollMs: 5,
    rotation: null,
    sqlFiles: noSqlFiles,
    ...own,
  });
  return { admin, running };
}
