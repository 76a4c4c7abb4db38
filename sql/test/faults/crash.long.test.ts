import { test } from "vitest";
import { survivesCrashes } from "./crash.ts";

for (const seed of [1, 2, 3]) {
  test(`twenty immediate stops of Postgres in the middle of everything, seed ${seed}`, () => survivesCrashes(20, seed));
}
