import { existsSync } from "node:fs";
import { inspect } from "node:util";
import { UsageError } from "../output/failure.ts";
import { importFile } from "../worker/import-file.ts";
import { taskOptions } from "../worker/task-options.ts";
import type { PgqueConfig } from "./config.ts";

/** A configuration, and the file that it is in. */
export interface LoadedConfig {
  file: string;
  config: PgqueConfig;
}

/** Every key of a configuration, with the type that its value has. */
const configKeys: Record<string, "string" | "number" | "boolean" | "strings"> = {
  databaseUrl: "string",
  schema: "string",
  folder: "string",
  queue: "strings",
  crontab: "string",
  metricsPort: "number",
  metricsHost: "string",
  logLevel: "string",
  logFormat: "string",
  ...taskOptions.keys(),
};

const names = ["pgque.config.ts", "pgque.config.mts", "pgque.config.js", "pgque.config.mjs"];

/**
 * The configuration in a file, or without one in that of the folder the command runs in; undefined when there is none.
 *
 * @throws UsageError when what it exports is no configuration; Error when it does not load
 */
export async function loadConfig(file: string | undefined): Promise<LoadedConfig | undefined> {
  const found = file ?? names.find((name) => existsSync(name));
  if (found === undefined) return undefined;
  if (!existsSync(found))
    throw new UsageError(`expected a configuration at ${JSON.stringify(found)}, found: nothing there`);
  const exported = await importFile(found);
  if (typeof exported !== "object" || exported === null || Array.isArray(exported)) {
    throw new UsageError(`expected ${found} to export an object by default, got: ${inspect(exported, { depth: 0 })}`);
  }
  const { default: distance } = await import("leven");
  for (const [key, value] of Object.entries(exported)) check(found, key, value, distance);
  return { file: found, config: exported };
}

function check(file: string, key: string, value: unknown, distance: (a: string, b: string) => number): void {
  if (!Object.hasOwn(configKeys, key)) {
    const known = Object.keys(configKeys);
    const bare = (name: string): string => name.toLowerCase().replaceAll(/[^a-z]/g, "");
    const near = known
      .map((name) => ({ name, far: distance(bare(name), bare(key)) }))
      .toSorted((a, b) => a.far - b.far)[0];
    const meant = near !== undefined && near.far <= 3 ? `; did you mean \`${near.name}\`?` : ".";
    throw new UsageError(`${file}: unknown key \`${key}\`${meant} Known: ${known.join(", ")}`);
  }
  const wanted = configKeys[key];
  if (value === undefined || typeof value === wanted) return;
  const isText = (one: unknown): boolean => typeof one === "string";
  if (wanted === "strings" && (isText(value) || (Array.isArray(value) && value.every(isText)))) return;
  const what = wanted === "strings" ? "a string or an array of strings" : `a ${wanted}`;
  throw new UsageError(`${file}: expected \`${key}\` to be ${what}, got: ${inspect(value, { depth: 0 })}`);
}
