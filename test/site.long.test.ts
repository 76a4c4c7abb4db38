import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";

const root = path.resolve(import.meta.dirname, "..");
const site = path.join(root, "site");

test("the site is built: every document is a page, and every export of client and worker is in the reference", async () => {
  for (const args of [
    ["install", "--no-audit", "--no-fund"],
    ["run", "build"],
  ]) {
    const { status, stdout, stderr } = spawnSync("npm", args, { cwd: site, encoding: "utf8" });
    if (status !== 0) throw new Error(`npm ${args.join(" ")} ended with ${status}:\n${stdout}${stderr}`);
  }
  const documents = [...readFileSync(path.join(root, "llms.txt"), "utf8").matchAll(/^- \[.*?\]\((.*?)\.md\)/gm)];
  const pages = documents.map(([, file = ""]) => (file === "README" ? "index.html" : `${file}.html`));
  expect(pages.length).toBeGreaterThan(20);
  expect(pages.filter((page) => !existsSync(path.join(site, "dist", page)))).toEqual([]);
  for (const name of ["@pgque/client", "@pgque/client/testing", "@pgque/worker", "@pgque/worker/testing", "pgque"]) {
    const page = readFileSync(path.join(site, `dist/api/${name}.html`), "utf8");
    const exported = Object.keys(await import(name)).filter((key) => key !== "default" && key !== "module.exports");
    expect(exported).not.toEqual([]);
    expect(exported.filter((key) => !page.includes(`id="${key.toLowerCase()}`))).toEqual([]);
  }
});
