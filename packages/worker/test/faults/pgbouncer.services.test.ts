import { test } from "vitest";
import { ownServer } from "../../../../test/support/database.ts";
import { startPgbouncer } from "../../../../test/services/pgbouncer.ts";
import { Fleet } from "./fleet.ts";

test("pgbouncer is killed and started again, three times, under load", async () => {
  await using own = await ownServer();
  await using pgbouncer = await startPgbouncer(own.url, 10);
  const { url } = pgbouncer;
  await using fleet = await Fleet.start({ url: own.url, workersUrl: url, sendersUrl: url, readers: 2 });
  for (let i = 0; i < 3; i += 1) {
    await pgbouncer.restart();
    await fleet.allWork();
  }
  await fleet.verdictAfter(3);
});
