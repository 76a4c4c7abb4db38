#!/usr/bin/env node
// Holds the prose of the documents to two rules: no sentence of more than 25 words, and the words of the field instead of our own.
// Headings, tables, code and comments are not looked at. docs/cli.md is made by a program and checked where it is made.
//
//   node scripts/check-prose.mjs              every document
//   node scripts/check-prose.mjs docs/a.md    these
import { globSync, readFileSync } from "node:fs";
import path from "node:path";

const root = path.resolve(import.meta.dirname, "..");
const wordsMax = 25;

/** Words that readers of this field do not use, and the ones that they do. */
const instead = [
  [/\bmend(s|ed|ing)?\b/i, "fix"],
  [/\bg(ive|ives|iving|iven|ave) (it |them |these )?back\b/i, "reclaimed, requeued or returned"],
  [/\bin hand\b/i, "in flight"],
  [/\bwork(s|ed|ing)? off\b/i, "drained"],
  [/\bbystanders?\b/i, "unrelated query"],
  [/\bat once\b/i, "immediately or concurrently"],
];

/** The prose of a document: its sentences, with the line on which each begins. */
function sentencesOf(markdown) {
  const blank = (text) => text.replace(/[^\n]/g, " ");
  const prose = markdown
    .replace(/^( *)```.*?^\1```$/gms, blank)
    .replace(/<!-- from .*?<!-- end -->/gs, blank) // quoted from a committed report
    .replace(/<!--.*?-->|<[a-z/][^>]*>/gs, blank)
    .replace(/^(\s*\||#).*$/gm, blank)
    .replace(/`[^`]*`/g, (code) => code.replace(/[^\n]/g, "x")) // one word, whatever is in it
    .replace(/\]\([^)]*\)/g, "]");
  const sentences = [];
  let line = 1;
  for (const paragraph of prose.split(/(\n[^\S\n]*\n|\n(?=\s*(?:[-*>]|\d+\.)\s))/)) {
    for (const text of paragraph.split(/(?<=[.!?]["')*]*)(?=\s)/)) {
      if (text.trim()) sentences.push({ line: line + /^\s*/.exec(text)[0].split("\n").length - 1, text: text.trim() });
      line += text.split("\n").length - 1;
    }
  }
  return sentences;
}

/** The complaints about one document, one a line. */
function complaints(markdown) {
  const found = [];
  for (const { line, text } of sentencesOf(markdown)) {
    const words = text.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)).length;
    if (words > wordsMax) found.push(`${line}: ${words} words: ${text.split(/\s+/).slice(0, 8).join(" ")} …`);
    for (const [pattern, better] of instead)
      if (pattern.test(text)) found.push(`${line}: "${pattern.exec(text)[0]}": write ${better}`);
  }
  return found;
}

const pages = ["*.md", "docs/*.md", "sql/*.md", "bench/*.md", "packages/*/README.md", "examples/*/README.md"];
const made = new Set(["docs/cli.md"]);
const files = process.argv.length > 2 ? process.argv.slice(2) : globSync(pages, { cwd: root });
for (const file of files.filter((name) => !made.has(name))) {
  for (const complaint of complaints(readFileSync(path.resolve(root, file), "utf8"))) {
    console.error(`${file}:${complaint}`);
    process.exitCode = 1;
  }
}
