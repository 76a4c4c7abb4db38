import { test } from "vitest";
import { survivesCrashes } from "./crash.ts";

test(
  "an immediate stop of Postgres in the middle of everything loses nothing and invents nothing",
  { timeout: 90_000 },
  () => survivesCrashes(2, 7),
);
