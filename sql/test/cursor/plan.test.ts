import { test } from "vitest";
import { receivesByIndex, statistics } from "./plan.ts";

for (const backlog of [0, 10_000]) {
  for (const known of statistics) {
    test(`a receive reads by index alone at a backlog of ${backlog} messages with ${known} statistics`, () =>
      receivesByIndex(backlog, known));
  }
}
