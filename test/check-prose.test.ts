import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";

const script = path.resolve(import.meta.dirname, "../scripts/check-prose.mjs");
let folder = "";
beforeAll(() => (folder = mkdtempSync(path.join(os.tmpdir(), "pgque prose "))));
afterAll(() => rmSync(folder, { recursive: true }));

/** The complaints of the script about a document, without its name; and whether it fails, which it does if there are any. */
function complaints(markdown: string): string[] {
  const file = path.join(folder, "page.md");
  writeFileSync(file, markdown);
  const { status, stderr } = spawnSync(process.execPath, [script, file], { encoding: "utf8" });
  const lines = stderr.split("\n").filter(Boolean);
  expect(status).toBe(lines.length === 0 ? 0 : 1);
  return lines.map((line) => line.slice(`${file}:`.length));
}
const words = (count: number): string => `${Array.from({ length: count }, () => "word").join(" ")}.`;

test("a sentence of 25 words passes, one of 26 does not, wherever its lines break", () => {
  expect(complaints(words(25))).toEqual([]);
  const broken = words(26).replace(" ", "\n");
  expect(complaints(`# Title\n\nShort. ${broken}`)).toEqual([expect.stringMatching(/^3: 26 words/)]);
});

test("a list item is a sentence of its own", () => {
  expect(complaints(`- ${words(20).slice(0, -1)}\n- ${words(20)}`)).toEqual([]);
});

test("headings, tables, comments and code are not prose", () => {
  const long = `at once ${words(40)}`;
  expect(
    complaints(`# ${long}\n\n| a |\n| --- |\n| ${long} |\n\n<!-- ${long} -->\n\n\`\`\`ts\n${long}\n\`\`\`\n`),
  ).toEqual([]);
  expect(complaints(`The flag is \`${long}\`.`)).toEqual([]);
});

test("the words of the field are asked for, by line", () => {
  expect(complaints("Fine.\n\nThe batch\nis given back at once.")).toEqual([
    '3: "given back": write reclaimed, requeued or returned',
    '3: "at once": write immediately or concurrently',
  ]);
});
