#!/usr/bin/env node
// Writes every package as the tarball that would be published: results/packages/*.tgz, or into the folder that is named.
import { mkdirSync, rmSync } from "node:fs";
import path from "node:path";
import { pnpm } from "./pnpm.mjs";

const root = path.resolve(import.meta.dirname, "..");
const target = path.resolve(process.argv[2] ?? path.join(root, "results", "packages"));
rmSync(target, { recursive: true, force: true });
mkdirSync(target, { recursive: true });
pnpm(
  [
    "--recursive",
    "--filter",
    "./sql",
    "--filter",
    "./bench",
    "--filter",
    "./packages/*",
    "pack",
    "--pack-destination",
    target,
  ],
  {
    cwd: root,
    stdio: ["ignore", "ignore", "inherit"],
  },
);
console.log(target);
