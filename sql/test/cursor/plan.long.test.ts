import { test } from "vitest";
import { receivesByIndex, statistics } from "./plan.ts";

for (const known of statistics) {
  test(`a receive reads by index alone at a backlog of a million messages with ${known} statistics`, () =>
    receivesByIndex(1_000_000, known));
}
