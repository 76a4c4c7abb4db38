// The script and the style of the benchmark's report.html, bundled from bench/src/report/html/page with the library that draws the
// charts, whose licence wants its text in every copy.
import { readFileSync } from "node:fs";
import path from "node:path";
import { build } from "vite";

/** The module that ships them. */
export async function reportPageModule(bench) {
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
  const script = output.find(({ type }) => type === "chunk").code;
  const style = output.find(({ fileName }) => fileName.endsWith(".css")).source;
  const licence = readFileSync(path.join(bench, "node_modules/uplot/LICENSE"), "utf8").trim();
  const texts = { pageScript: `/*! uPlot\n${licence}\n*/\n${script}`, pageStyle: String(style) };
  for (const [name, text] of Object.entries(texts)) {
    if (/<\/(script|style)|<!--/i.test(text)) throw new Error(`${name} would end the element that it is put into`);
  }
  return [
    "// Generated from bench/src/report/html/page by scripts/generate.mjs. Do not edit.",
    ...Object.entries(texts).map(([name, text]) => `export const ${name}: string = ${JSON.stringify(text)};`),
    "",
  ].join("\n");
}
