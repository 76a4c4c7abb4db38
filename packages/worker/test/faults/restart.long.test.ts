import { test } from "vitest";
import { ownServer } from "../../../../test/support/database.ts";
import { Fleet } from "./fleet.ts";

test("Postgres is stopped while workers use a pool of the application's, for whose errors nobody listens", async () => {
  await using own = await ownServer();
  await using fleet = await Fleet.start({ url: own.url, options: { pool: { max: 5 } } });
  await own.server.restart({ immediate: true });
  await fleet.allWork();
  await fleet.verdictAfter(1);
});

test("Postgres is stopped as by a crash, three times, under load", async () => {
  await using own = await ownServer();
  await using fleet = await Fleet.start({ url: own.url, readers: 2 });
  for (let i = 0; i < 3; i += 1) {
    await own.server.restart({ immediate: true });
    await fleet.allWork();
  }
  await fleet.verdictAfter(3);
});
