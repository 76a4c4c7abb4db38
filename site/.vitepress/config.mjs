import { readFileSync } from "node:fs";
import path from "node:path";
import { defineConfig } from "vitepress";

const llms = readFileSync(path.resolve(import.meta.dirname, "../../llms.txt"), "utf8");

/** llms.txt lists all documents in the order of a reader: under its headings, `- [file](file): what it says`. */
const sidebar = llms
  .split(/^## /m)
  .slice(1)
  .map((section) => {
    const [text = "", ...lines] = section.split("\n");
    const items = lines.flatMap((line) => {
      const [, file] = /^- \[.*?\]\((.*?)\)/.exec(line) ?? [];
      return file === undefined ? [] : [{ text: titleOf(file), link: file === "README.md" ? "/" : `/${file}` }];
    });
    return { text, items };
  });

function titleOf(file) {
  const [, title = file] =
    /^# (.*)$/m.exec(readFileSync(path.resolve(import.meta.dirname, "../..", file), "utf8")) ?? [];
  return title;
}

export default defineConfig({
  title: "Pgque",
  description: "A Postgres queue for Node.js that stays fast whoever holds the xmin horizon",
  srcDir: "pages",
  outDir: "dist",
  themeConfig: {
    sidebar: [...sidebar, { text: "API", items: [{ text: "Reference", link: "/api/" }] }],
    search: { provider: "local" },
    outline: [2, 3],
  },
});
