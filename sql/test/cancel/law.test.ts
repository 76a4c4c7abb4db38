import { test } from "vitest";
import { cancelledIsNeverReceived } from "./law.ts";

for (const faults of [false, true])
  test(`cancelled is the answer if and only if nobody receives the message, for two seconds, with${faults ? "" : "out"} faults`, () =>
    cancelledIsNeverReceived(2, Math.floor(Math.random() * 1e9), faults));
