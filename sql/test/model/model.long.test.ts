import { test } from "vitest";
import { behavesLikeItsModel } from "./model.ts";

for (const seed of [1, 2]) {
  test(`queue, consumers, leases and retries do what a model of them does, 150 times, seed ${seed}`, () =>
    behavesLikeItsModel(150, seed));
}
