import { test } from "vitest";
import { exactlyOnce } from "./exactly-once.ts";

test("every committed message reaches every consumer exactly once, rolled-back ones never", { timeout: 60_000 }, () =>
  exactlyOnce(8_000, 20_261_121),
);
