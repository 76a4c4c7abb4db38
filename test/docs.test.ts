import { readFileSync, readdirSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";

const root = path.resolve(import.meta.dirname, "..");
const documents = [
  "README.md",
  "CONTRIBUTING.md",
  "SECURITY.md",
  "bench/README.md",
  "sql/README.md",
  "packages/client/README.md",
  "packages/worker/README.md",
  "packages/dashboard/README.md",
  "packages/relay/README.md",
  "packages/cli/README.md",
  "packages/postgres/README.md",
  ...readdirSync(path.join(root, "docs"))
    .filter((file) => file.endsWith(".md"))
    .map((file) => `docs/${file}`),
];
const read = (file: string): string => readFileSync(path.join(root, file), "utf8");

describe("documents", () => {
  test("are all in llms.txt", () => {
    const listed = [...read("llms.txt").matchAll(/^- \[(.+)\]\(\1\): \w/gm)].map(([, file = ""]) => file);
    expect(listed.toSorted()).toEqual([...documents, "CHANGELOG.md"].toSorted());
  });

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

  test("have no example in a syntax that the oldest Node does not know", () => {
    const newer = documents.filter((document) => /^\s*(await )?using \w+ =/m.test(read(document)));
    expect(newer, "`using` is for Node 24 and later").toEqual([]);
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

  test("link to files and headings that exist, and show pictures that do", () => {
    for (const document of documents) {
      const text = read(document);
      for (const [, picture = ""] of text.matchAll(/ src(?:set)?="([^"]+)"/g))
        expect(
          readdirOrFile(path.resolve(root, path.dirname(document), picture)),
          `${picture} in ${document}`,
        ).not.toBe("");
      for (const [, target = "", heading = ""] of text.matchAll(/\]\((?!https?:)([^)#]*)(#[^)]+)?\)/g)) {
        const file = target === "" ? path.join(root, document) : path.resolve(root, path.dirname(document), target);
        const linked = readdirOrFile(file);
        if (heading !== "") expect(anchors(linked), `${target}${heading} in ${document}`).toContain(heading);
      }
    }
  });
});

/** The text of a file, nothing of a folder. Throws when there is neither. */
function readdirOrFile(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EISDIR") throw error;
    return "";
  }
}

/** The anchors that a forge makes of the headings of a page. */
function anchors(markdown: string): string[] {
  return [...markdown.matchAll(/^#+ (.*)$/gm)].map(
    ([, title = ""]) =>
      `#${title
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
        .replaceAll(" ", "-")}`,
  );
}
