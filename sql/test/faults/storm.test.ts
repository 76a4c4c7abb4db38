import { describe, test } from "vitest";
import { survivesStorm } from "./storm.ts";

describe("None reaches a consumer twice unless it was nacked, redriven or its lease ended", () => {
  test("in a storm of everything at once, with whatever can go wrong going wrong", { timeout: 240_000 }, () =>
    survivesStorm(6, 20_261_121),
  );
});
