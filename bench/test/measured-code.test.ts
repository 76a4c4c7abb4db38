import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { measuredCode } from "#src/report/results";

test("a run notes the version and the commit of the code that it measures", async () => {
  const { version, commit } = await measuredCode();
  const head = execFileSync("git", ["rev-parse", "HEAD"], { encoding: "utf8", cwd: import.meta.dirname }).trim();
  expect(version).toMatch(/^\d+\.\d+\.\d+/);
  expect(head.startsWith(commit?.replace("-dirty", "") ?? "none")).toBe(true);
});
