#!/usr/bin/env node
// Builds the site: the documents of the repository under their paths, and an API reference made of the docstrings, into site/dist.
// The documents stay as they are on a code host; only links to what is no page are changed on the way. Needs the packages to be built.
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";

const site = import.meta.dirname;
const root = path.resolve(site, "..");
const pages = path.join(site, "pages");

const { repository } = JSON.parse(readFileSync(path.join(root, "release.json"), "utf8"));
const llms = readFileSync(path.join(root, "llms.txt"), "utf8");

rmSync(pages, { recursive: true, force: true });
const documents = [...llms.matchAll(/^- \[.*?\]\((.*?)\)/gm)].map(([, file]) => file);
for (const file of documents) {
  const target = path.join(pages, pageOf(file));
  mkdirSync(path.dirname(target), { recursive: true });
  writeFileSync(target, withLinks(file, readFileSync(path.join(root, file), "utf8")));
}
cpSync(path.join(root, "docs/images"), path.join(pages, "docs/images"), { recursive: true });
bin("typedoc", []);
bin("vitepress", ["build"]);

/** The first page of a site is called index. */
function pageOf(file) {
  return file === "README.md" ? "index.md" : file;
}

/** Links between pages stay relative. Others lead to the repository, and are text as long as nobody knows where that is. */
function withLinks(file, text) {
  const images = text.replaceAll(/\b(src|srcset)="(?=\w+\/)/g, '$1="./');
  return images.replaceAll(
    /(?<!!)\[([^\]]*)\]\((?!https?:|#|mailto:)([^)#]*)(#[^)]*)?\)/g,
    (_, label, link, anchor = "") => {
      const found = path.posix.normalize(path.posix.join(path.posix.dirname(file), link)).replace(/\/$/, "");
      if (documents.includes(found)) {
        const target = path.posix.relative(path.posix.dirname(file), pageOf(found));
        return `[${label}](${target.startsWith(".") ? target : `./${target}`}${anchor})`;
      }
      if (!existsSync(path.join(root, found))) throw new Error(`${file}: expected ${link} to be there`);
      const kind = statSync(path.join(root, found)).isDirectory() ? "tree" : "blob";
      return repository === "" ? label : `[${label}](${repository}/${kind}/main/${found})`;
    },
  );
}

function bin(name, args) {
  execFileSync(path.join(site, "node_modules/.bin", name), args, { cwd: site, stdio: "inherit" });
}
