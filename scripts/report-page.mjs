// The script and the style of the benchmark's report.html, bundled from bench/src/report/html/page with the library that draws the
// charts, whose licence wants its text in every copy.
import { readFileSync } from "node:fs";
import path from "node:path";
import { build } from "vite";

/**
 * @param {string} bench the folder
 * @returns {Promise<{module: string, licences: string, bundled: {name: string, version: string, license: string, text: string}[]}>} the module
 *   that ships them, the licences of the packages that are bundled into it, and these packages
 */
export async function reportPage(bench) {
  const root = path.join(bench, "src/report/html/page");
  const { output } = await build({
    root,
    configFile: false,
    logLevel: "error",
    build: {
      write: false,
      target: "es2022",
      modulePreload: false,
      cssCodeSplit: false,
      rolldownOptions: { input: path.join(root, "main.ts"), output: { format: "iife" } },
    },
  });
  const chunk = output.find(({ type }) => type === "chunk");
  const style = output.find(({ fileName }) => fileName.endsWith(".css")).source;
  const bundled = packagesOf(chunk.moduleIds);
  const licences = bundled
    .map(({ name, version, license, text }) => `${name} ${version} (${license})\n\n${text}\n`)
    .join("\n");
  const texts = { pageScript: `/*!\n${licences}*/\n${chunk.code}`, pageStyle: String(style) };
  for (const [name, text] of Object.entries(texts)) {
    if (/<\/(script|style)|<!--/i.test(text)) throw new Error(`${name} would end the element that it is put into`);
  }
  const module = [
    "// Generated from bench/src/report/html/page by scripts/generate.mjs. Do not edit.",
    ...Object.entries(texts).map(([name, text]) => `export const ${name}: string = ${JSON.stringify(text)};`),
    "",
  ].join("\n");
  return { module, licences: `dist/report/html/page.gen.js holds code of these packages.\n\n${licences}`, bundled };
}

/** The packages that files of node_modules belong to. */
function packagesOf(files) {
  const folders = files.flatMap((file) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0] ?? []);
  return [...new Set(folders)].map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(path.join(folder, "package.json"), "utf8"));
    return { name, version, license, text: readFileSync(path.join(folder, "LICENSE"), "utf8").trim() };
  });
}
