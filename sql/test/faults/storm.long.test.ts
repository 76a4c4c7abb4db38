import { test } from "vitest";
import { survivesStorm } from "./storm.ts";

for (const seed of [1, 2]) {
  test(`everything at once, with whatever can go wrong going wrong, for a minute, seed ${seed}`, () =>
    survivesStorm(60, seed));
}
