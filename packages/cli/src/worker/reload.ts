import { watch } from "node:fs";
import { createRequire, registerHooks } from "node:module";
import path from "node:path";
import { fileURLToPath } from "node:url";

/** What comes within this time is one change: editors write a file in several steps. */
const quietMs = 100;

/**
 * Has files of a folder imported anew: what is imported after a call of the result is read again, with all that it imports from the folder.
 * Modules that were imported before stay as they are. What packages and files elsewhere export is imported once.
 */
export function freshImports(folder: string): () => void {
  const inside = path.resolve(folder) + path.sep;
  let round = 0;
  registerHooks({
    resolve(specifier, context, next) {
      const found = next(specifier, context);
      if (round === 0 || !found.url.startsWith("file:") || found.url.includes("/node_modules/")) return found;
      if (!fileURLToPath(found.url).startsWith(inside)) return found;
      const url = new URL(found.url);
      url.searchParams.set("pgque", String(round));
      return { ...found, url: url.href };
    },
  });
  const { cache } = createRequire(import.meta.url);
  return () => {
    round += 1;
    for (const file of Object.keys(cache)) if (file.startsWith(inside)) delete cache[file];
  };
}

/** Calls back after files in the folder, or below it, have changed. */
export function watchFolder(folder: string, onChange: () => void, signal: AbortSignal): void {
  let timer: NodeJS.Timeout | undefined;
  watch(folder, { recursive: true, signal }, () => {
    clearTimeout(timer);
    timer = setTimeout(() => signal.aborted || onChange(), quietMs);
  });
}
