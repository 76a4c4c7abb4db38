import { test } from "vitest";
import { survivesUpgrade } from "./fleet.ts";

test("a database in use is upgraded, with messages in every state, while senders and workers of both versions go on", async () => {
  await survivesUpgrade(200);
});
