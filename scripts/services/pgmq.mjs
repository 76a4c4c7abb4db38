import { spawnSync } from "node:child_process";
import path from "node:path";

const version = "1.1.4";

/** PGMQ's SQL, which its Python client has in its package. Returns the path of the file below the folder. */
export function fetchPgmq(folder) {
  const packages = path.join(folder, "pgmq");
  run(["-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "--dest", packages, `pgmq==${version}`]);
  run(["-m", "zipfile", "-e", path.join(packages, `pgmq-${version}-py3-none-any.whl`), packages]);
  return path.join(packages, "pgmq/sql/pgmq.sql");
}

function run(args) {
  const { status } = spawnSync("python3", args, { stdio: ["ignore", "ignore", "inherit"] });
  if (status !== 0) throw new Error(`python3 ${args.join(" ")} failed`);
}
