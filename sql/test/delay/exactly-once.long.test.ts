import { test } from "vitest";
import { deliversOnceAndNotEarly } from "./exactly-once.ts";

for (const seed of [1, 2]) {
  test(`every delayed message comes once and not early, for 40 s, seed ${seed}`, () =>
    deliversOnceAndNotEarly(40, seed));
}
