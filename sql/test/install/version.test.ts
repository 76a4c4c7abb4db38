import { serves } from "@pgque/sql";
import { expect, test } from "vitest";

test.each([
  ["1.2.3", "1.2.3", true],
  ["1.3.0", "1.2.3", true],
  ["1.2.2", "1.2.3", false],
  ["2.0.0", "1.2.3", false],
  ["0.1.4", "0.1.3", true],
  ["0.2.0", "0.1.3", false],
  ["0.1.2", "0.1.3", false],
])("whether a schema of version %s serves a client that needs %s: %s", (found, needed, does) => {
  expect(serves(found, needed)).toBe(does);
});
