import { test } from "vitest";
import { ownServer } from "../../../../test/support/database.ts";
import { testServers } from "../../../../test/support/server.ts";
import { programs } from "../../../../test/services/programs.ts";
import { chaos } from "./chaos.ts";

test("on PostgreSQL 15 as Debian ships it, twenty seconds of everything at once", { timeout: 600_000 }, async () => {
  await using own = await ownServer(testServers(programs));
  await chaos(own, 20_000);
});
