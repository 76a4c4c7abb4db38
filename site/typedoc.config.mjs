import { readFileSync } from "node:fs";
import path from "node:path";

const root = path.resolve(import.meta.dirname, "..");

/** Source of an entry point → the name by which it is imported. */
const modules = new Map(
  [
    "packages/client",
    "packages/worker",
    "packages/dashboard",
    "packages/relay",
    "packages/cli",
    "packages/postgres",
  ].flatMap((folder) => {
    const { name, exports } = JSON.parse(readFileSync(path.join(root, folder, "package.json"), "utf8"));
    // docs/versions.md: what `options` and `horizon` export is for our own packages
    const entries = Object.entries(exports).filter(([entry]) => !["./options", "./horizon"].includes(entry));
    return entries.map(([entry, { types }]) => [
      path.join(root, folder, types.replace("./dist/", "src/").replace(".d.ts", ".ts")),
      path.posix.join(name, entry),
    ]);
  }),
);

/** Modules are called as in an import, and not by the folders that they stand in. */
export function load(app) {
  app.converter.on("createDeclaration", (context, reflection) => {
    const file = context.getSymbolFromReflection(reflection)?.declarations?.[0]?.getSourceFile().fileName;
    if (reflection.parent?.isProject() && modules.has(file)) reflection.name = modules.get(file);
  });
}

export default {
  name: "API",
  hideBreadcrumbs: true,
  hidePageHeader: true,
  plugin: ["typedoc-plugin-markdown", import.meta.filename],
  entryPoints: [...modules.keys()],
  tsconfig: "tsconfig.json",
  out: "pages/api",
  readme: "none",
  entryFileName: "index",
  outputFileStrategy: "modules",
  useCodeBlocks: true,
  sanitizeComments: true,
  excludePrivate: true,
  excludeExternals: true,
  disableSources: true,
  treatWarningsAsErrors: true,
};
