import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import path from "node:path";

/** Installs the packages of the programs that are not there. Needs root and apt for that, and says so. */
export function install(programs) {
  const missing = Object.keys(programs).filter((program) => !isThere(program));
  if (missing.length === 0) return;
  const packages = [...new Set(missing.map((program) => programs[program]))];
  const byHand = `apt-get install --no-install-recommends ${packages.join(" ")}`;
  if (process.getuid?.() !== 0) throw new Error(`expected ${missing.join(", ")}; as root: ${byHand}`);
  console.error(`installing ${packages.join(", ")} …`);
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  for (const args of [
    ["update", "-qq"],
    ["install", "-y", "-qq", "--no-install-recommends", ...packages],
  ]) {
    const { status } = spawnSync("apt-get", args, { env, stdio: ["ignore", "ignore", "inherit"] });
    if (status !== 0) throw new Error(`apt-get ${args[0]} failed; what is needed: ${byHand}`);
  }
}

function isThere(program) {
  if (path.isAbsolute(program)) return existsSync(program);
  const folders = [...(process.env.PATH ?? "").split(path.delimiter), "/usr/sbin"];
  return folders.some((folder) => existsSync(path.join(folder, program)));
}
