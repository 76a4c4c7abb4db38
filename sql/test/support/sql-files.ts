import { readdir } from "node:fs/promises";

/** The files of the schema, relative to its folder. */
export async function sqlFiles(folder: URL): Promise<string[]> {
  const files = await readdir(folder, { recursive: true });
  return files.filter((file) => file.endsWith(".sql"));
}
