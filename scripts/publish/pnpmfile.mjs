// pnpm calls this for each package that it packs; scripts/pack.mjs names the file to it.
import path from "node:path";
import { readDetails, withDetails } from "./details.mjs";

const details = readDetails(path.resolve(import.meta.dirname, "../.."));
const isPublished = process.env.PGQUE_PACK_PUBLISHED === "true";

export const hooks = {
  beforePacking: (manifest) => ({ ...withDetails(manifest, details), ...(isPublished && { published: true }) }),
};
