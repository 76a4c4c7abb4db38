import { readFileSync, readdirSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";

const root = path.resolve(import.meta.dirname, "..");
const documents = [
  "README.md",
  "sql/README.md",
  "packages/client/README.md",
  "packages/worker/README.md",
  "packages/cli/README.md",
  ...readdirSync(path.join(root, "docs"))
    .filter((file) => file.endsWith(".md"))
    .map((file) => `docs/${file}`),
];
const read = (file: string): string => readFileSync(path.join(root, file), "utf8");

describe("documents", () => {
  test("quote the examples as they are, every one of them", () => {
    const quoted = new Set<string>();
    for (const document of documents) {
      for (const [, file = "", code] of read(document).matchAll(/<!-- (docs\/examples\/\S+) -->\n```\w+\n(.*?)```/gs)) {
        expect(code, `${file} in ${document}`).toBe(read(file));
        quoted.add(file);
      }
    }
    const files = readdirSync(path.join(root, "docs/examples"), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => path.relative(root, path.join(entry.parentPath, entry.name)))
      .filter((file) => !file.includes("/generated/"));
    expect([...quoted].toSorted()).toEqual(files.toSorted());
  });

  test("give no figure that is not in a committed result", () => {
    let blocks = 0;
    for (const document of documents) {
      for (const [, file = "", block = ""] of read(document).matchAll(
        /<!-- from (bench\/results\/\S+) -->\n(.*?)<!-- end -->/gs,
      )) {
        const lines = read(file).split("\n");
        for (const line of block.split("\n").filter(Boolean)) expect(lines, `${file} in ${document}`).toContain(line);
        blocks += 1;
      }
    }
    expect(blocks).toBeGreaterThan(0);
  });

  test("link to files that exist", () => {
    for (const document of documents) {
      for (const [, target = ""] of read(document).matchAll(/\]\((?!https?:|#)([^)#]+)/g)) {
        expect(
          () => readdirOrFile(path.resolve(root, path.dirname(document), target)),
          `${target} in ${document}`,
        ).not.toThrow();
      }
    }
  });
});

function readdirOrFile(file: string): void {
  try {
    readFileSync(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EISDIR") throw error;
  }
}
