import { test } from "vitest";
import { ownServer } from "../../../../test/support/database.ts";
import { chaos } from "./chaos.ts";

test("a minute of everything at once: nothing lost, nothing made up, nothing out of order, nothing left behind", async () => {
  await using own = await ownServer();
  await chaos(own, 60_000);
});
