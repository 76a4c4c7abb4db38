import { readFileSync } from "node:fs";

const manifest = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as {
  version: string;
  published?: true;
};

/** Of this package, and of all others that were released with it. */
export const { version } = manifest;

/** Whether registries have this version: scripts/publish.mjs says so in what it packs. */
export const published = manifest.published ?? false;
