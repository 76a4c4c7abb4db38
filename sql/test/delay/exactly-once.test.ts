import { test } from "vitest";
import { deliversOnceAndNotEarly } from "./exactly-once.ts";

test("every delayed message comes once and not early, while its store is collected", { timeout: 60_000 }, () =>
  deliversOnceAndNotEarly(5, 11),
);
