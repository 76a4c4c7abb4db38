import { describe, test } from "vitest";
import { exactlyOnce } from "./exactly-once.ts";

describe("Every committed message reaches every consumer at least once; rolled-back ones never", () => {
  test("with 16 producers and six workers, and none twice", { timeout: 60_000 }, () => exactlyOnce(5_000, 20_261_121));
});
