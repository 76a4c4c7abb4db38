import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";

const cache = "/var/cache/pgque-services";
const source =
  "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian trixie main\n";

/**
 * Folder of the programs of PostgreSQL 17 as Debian 13 ships it. The package and all that it depends on are unpacked into a folder, and the
 * programs linked to the libraries in it. So they run on Debian 12, as any user, without a container. The folder is kept for the next run.
 */
export function postgresOfTrixie() {
  const folder = path.join(cache, "trixie-postgresql-17");
  const bin = path.join(folder, "usr/lib/postgresql/17/bin");
  if (existsSync(folder)) return bin;
  console.error("fetching postgresql-17 of Debian 13 …");
  const work = `${folder}.${process.pid}`;
  try {
    const root = path.join(work, "root");
    mkdirSync(root, { recursive: true });
    for (const archive of download(path.join(work, "apt"), "postgresql-17")) run("dpkg", ["-x", archive, root]);
    link(path.join(root, "usr/lib/postgresql/17/bin"), path.join(root, "usr/lib"), path.join(folder, "usr/lib"));
    // under its name only when it is whole
    renameSync(root, folder);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  return bin;
}

/** The archives of a package and of all that it depends on, whatever this system has: apt with folders of its own. */
function download(folder, name) {
  for (const part of ["lists/partial", "archives/partial"]) mkdirSync(path.join(folder, part), { recursive: true });
  const sources = path.join(folder, "sources.list");
  writeFileSync(sources, source);
  writeFileSync(path.join(folder, "status"), "");
  const options = {
    "Dir::Etc::sourcelist": sources,
    "Dir::Etc::sourceparts": "/dev/null",
    "Dir::State": folder,
    "Dir::State::status": path.join(folder, "status"),
    "Dir::Cache": folder,
    "APT::Install-Recommends": "false",
    "APT::Sandbox::User": "root",
  };
  const apt = (...args) =>
    run("apt-get", ["-qq", ...Object.entries(options).flatMap(([key, value]) => ["-o", `${key}=${value}`]), ...args]);
  apt("update");
  apt("install", "--yes", "--download-only", name);
  const archives = path.join(folder, "archives");
  return readdirSync(archives)
    .filter((file) => file.endsWith(".deb"))
    .map((file) => path.join(archives, file));
}

/** Makes the programs use the loader and the libraries that will lie in `target`, and now do in `libraries`. */
function link(bin, libraries, target) {
  const triplet = readdirSync(libraries).find((name) => name.endsWith("-linux-gnu"));
  const loader = readdirSync(path.join(libraries, triplet)).find((name) => name.startsWith("ld-linux-"));
  const final = path.join(target, triplet);
  // RPATH, not RUNPATH: it also holds for what the libraries load, LLVM among it
  const options = ["--set-interpreter", path.join(final, loader), "--force-rpath", "--set-rpath", final];
  for (const program of ["postgres", "initdb"]) run("patchelf", [...options, path.join(bin, program)]);
}

function run(command, args) {
  const { status } = spawnSync(command, args, { stdio: ["ignore", "ignore", "inherit"] });
  if (status !== 0) throw new Error(`${command} ${args.join(" ")} failed`);
}
