import { test } from "vitest";
import { keepsOrder } from "./order.ts";

for (const seed of [1, 2]) {
  test(`one key's messages are handled in order for a minute, seed ${seed}`, () => keepsOrder(60_000, seed));
}
