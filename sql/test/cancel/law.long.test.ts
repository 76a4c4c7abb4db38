import { test } from "vitest";
import { cancelledIsNeverReceived } from "./law.ts";

for (const faults of [false, true])
  test(`cancelled is the answer if and only if nobody receives the message, for 40 s, with${faults ? "" : "out"} faults`, () =>
    cancelledIsNeverReceived(40, 1, faults));
