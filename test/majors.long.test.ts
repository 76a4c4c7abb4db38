import { expect, test } from "vitest";
import { runSuite } from "./support/suite.ts";

// 15 is tested as Debian ships it, by test:services
test.each([14, 16, 18])("everything that runs on PostgreSQL 17 by default runs on %i", async (major) => {
  const folders = ["sql", "packages/client", "packages/worker"];
  expect(await runSuite(folders, { PGQUE_TEST_POSTGRES: String(major) })).toEqual({ code: 0, output: "" });
});
