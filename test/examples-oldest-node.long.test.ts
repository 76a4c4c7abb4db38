import { readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { describeExamples } from "./support/describe-examples.ts";

const root = path.resolve(import.meta.dirname, "..");
const oldest = "22.18.0";
const json = (file: string): Record<string, unknown> => JSON.parse(readFileSync(path.join(root, file), "utf8"));

// npm has Node.js as a package for Linux alone
if (process.platform === "linux")
  describeExamples(path.join(root, `node_modules/node-22-linux-${process.arch}/bin/node`), oldest);

test("the oldest Node that packages and README name is the one that runs the examples", () => {
  const named = `>=${oldest.replace(/\.0$/, "")}`;
  for (const name of ["client", "worker", "cli"])
    expect(json(`packages/${name}/package.json`)["engines"], name).toEqual({ node: named });
  expect(readFileSync(path.join(root, "README.md"), "utf8")).toContain(`Node ${named.slice(2)} or later`);
});
