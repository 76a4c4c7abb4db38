import { test } from "vitest";
import { freshDatabase } from "../../../../test/support/database.ts";
import { Fleet } from "./fleet.ts";

test("all connections are cut, again and again", async () => {
  await using database = await freshDatabase();
  const admin = await database.connect();
  await using fleet = await Fleet.start({ url: database.url, readers: 2 });
  const blows = 20;
  for (let i = 0; i < blows; i += 1) {
    await admin.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()`,
    );
    // not so fast that nothing is under way in between
    await Promise.race([...fleet.workers, ...fleet.readers].map((child) => fleet.works(child)));
  }
  await fleet.allWork();
  await fleet.verdictAfter(blows);
});
