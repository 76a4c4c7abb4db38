import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { UsageError } from "../output/failure.ts";

/**
 * What a file exports by default. TypeScript runs as it is.
 *
 * @throws UsageError with the file and the line, when it cannot be read, does not parse or imports what is not there; Error when it throws:
 * that may pass
 */
export async function importFile(file: string): Promise<unknown> {
  try {
    const module: { default?: unknown } = await import(pathToFileURL(path.resolve(file)).href);
    return module.default;
  } catch (cause) {
    const place = placeIn(cause) ?? (cause instanceof SyntaxError ? await placeByCheck(file) : undefined);
    const message = `could not load ${place === undefined ? file : nameOf(place, file)}${adviceOn(cause)}`;
    throw isWrong(cause, file) ? new UsageError(message, { cause }) : new Error(message, { cause });
  }
}

/** As long as nobody fixes the file it will not load. */
function isWrong(cause: unknown, file: string): boolean {
  const { code, path: unread } = Object(cause) as NodeJS.ErrnoException;
  return cause instanceof SyntaxError || notThere.has(String(code)) || unread === path.resolve(file);
}

/** What an import or a require of something that is not there fails with. */
const notThere = new Set([
  "ERR_MODULE_NOT_FOUND",
  "MODULE_NOT_FOUND",
  "ERR_UNSUPPORTED_DIR_IMPORT",
  "ERR_PACKAGE_PATH_NOT_EXPORTED",
]);

/** What fixes what people run into first. */
function adviceOn(cause: unknown): string {
  const { code, message, url } = Object(cause) as NodeJS.ErrnoException & { url?: string };
  if (cause instanceof SyntaxError && /Unexpected token 'export'|import statement outside a module/.test(message))
    return ': the nearest package.json has to say "type": "module", or the file be named .mts or .mjs';
  if (code !== "ERR_MODULE_NOT_FOUND" || url === undefined) return "";
  const [bare] = url.split(/\.[cm]?js$/);
  const meant = [`${bare}.ts`, `${bare}.mts`, `${url}.js`, `${url}.mjs`].find((one) => existsSync(new URL(one)));
  return meant === undefined ? "" : `: an import names the file as it is, ${path.basename(fileURLToPath(meant))}`;
}

interface Place {
  file: string;
  line: string;
}

/** The innermost line of a file that is not a package's: where it threw, or does not parse. */
function placeIn(error: unknown): Place | undefined {
  const { stack = "" } = Object(error) as { stack?: string };
  for (const [, url = "", line = ""] of stack.matchAll(/(file:\/\/[^\s?]+?)(?:\?[^\s:]*)?:(\d+)/g))
    if (!url.includes("/node_modules/") && !url.startsWith(ownFiles)) return { file: fileURLToPath(url), line };
  return undefined;
}

const ownFiles = new URL("../", import.meta.url).href;

/** Where JavaScript does not parse: an import does not say. */
function placeByCheck(file: string): Promise<Place | undefined> {
  return new Promise((resolve) => {
    execFile(process.execPath, ["--check", path.resolve(file)], (_error, _out, stderr) => {
      const [, line] = /^.*?:(\d+)\n/.exec(stderr) ?? [];
      resolve(line === undefined ? undefined : { file: path.resolve(file), line });
    });
  });
}

/** A place in the file itself by the name it was given; another, which it imports, from the folder the command runs in. */
function nameOf(place: Place, file: string): string {
  if (place.file === path.resolve(file)) return `${file}:${place.line}`;
  return `${file}: ${path.relative("", place.file)}:${place.line}`;
}
