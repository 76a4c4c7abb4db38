import { spawnSync } from "node:child_process";

/** pnpm at the version that the lockfile is for; npx fetches it once. */
export const pnpmVersion = "12.21.0";

/** Runs pnpm and ends the process with its exit code when it fails. */
export function pnpm(args, options) {
  const { status, error } = spawnSync("npx", ["-y", `pnpm@${pnpmVersion}`, ...args], options);
  if (error) console.error(`npx: ${error.message}`);
  if (status !== 0) process.exit(status ?? 1);
}
