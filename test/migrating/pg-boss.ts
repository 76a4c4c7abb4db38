import { PgBoss } from "pg-boss";
import type { TestDatabase } from "../support/database.ts";

type Options = NonNullable<Exclude<ConstructorParameters<typeof PgBoss>[0], string>>;

/** The library on the test's database, without what it does by itself; the queues are those of the example. */
export async function pgBoss(database: TestDatabase, options: Options = {}) {
  const boss = new PgBoss({ connectionString: database.url, supervise: false, schedule: false, ...options });
  boss.on("error", () => undefined);
  await boss.start();
  await boss.createQueue("mails", { retryLimit: 4, retryBackoff: true });
  await boss.createQueue("bookings", { policy: "key_strict_fifo" });
  await boss.createQueue("digests");
  return Object.assign(boss, { [Symbol.asyncDispose]: () => boss.stop({ graceful: false }) });
}
