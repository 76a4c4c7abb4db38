import { test } from "vitest";
import { keepsOrder } from "./order.ts";

test(
  "One key's messages are handled in order, by one worker at a time, whatever happens to them",
  { timeout: 60_000 },
  () => keepsOrder(5000, 20_261_121),
);
