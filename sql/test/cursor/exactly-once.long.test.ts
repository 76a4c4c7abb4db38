import { test } from "vitest";
import { exactlyOnce } from "./exactly-once.ts";

for (const seed of [1, 2]) {
  test(`every committed message reaches every consumer exactly once, for a minute, seed ${seed}`, () =>
    exactlyOnce(60_000, seed));
}
