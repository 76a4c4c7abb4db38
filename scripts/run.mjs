#!/usr/bin/env node
// Runs one command of the workspace on a machine that has only Node 20 and npm: installs what the lockfile names if it
// changed, builds, then runs the command with the workspace's own Node and tools first on PATH. Imports nothing but Node.
//
//   node scripts/run.mjs vitest run       install, build, run
//   node scripts/run.mjs                  install, build
import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { pnpm, pnpmVersion } from "./pnpm.mjs";

const oldestNode = 20;
const root = path.resolve(import.meta.dirname ?? new URL(".", import.meta.url).pathname, "..");
const bin = path.join(root, "node_modules", ".bin");
const stamp = path.join(root, "node_modules", ".installed-lockfile");

/** What decides whether an install is due. */
function fingerprint() {
  const hash = createHash("sha256");
  const packages = Object.values(JSON.parse(readFileSync(path.join(root, "release.json"), "utf8")).packages);
  const files = [
    "pnpm-lock.yaml",
    "pnpm-workspace.yaml",
    "package.json",
    ...packages.map((folder) => `${folder}/package.json`),
  ];
  for (const file of files) hash.update(file).update(readFileSync(path.join(root, file)));
  return hash.update(`${process.platform} ${process.arch}`).digest("hex");
}

/** npm's own settings would reach pnpm through the environment and be taken for its own. */
function environment() {
  const kept = Object.entries(process.env).filter(([name]) => !/^npm_(config|package|lifecycle)_/i.test(name));
  return { ...Object.fromEntries(kept), PATH: `${bin}${path.delimiter}${process.env.PATH ?? ""}` };
}

function must(command, args) {
  const { status, error } = spawnSync(command, args, {
    cwd: root,
    env: environment(),
    stdio: ["ignore", "inherit", "inherit"],
  });
  if (error) console.error(`${command}: ${error.message}`);
  if (status !== 0) process.exit(status ?? 1);
}

function install() {
  const wanted = fingerprint();
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === wanted) return;
  console.error(`installing (pnpm ${pnpmVersion}, once per lockfile) …`);
  pnpm(["install", "--frozen-lockfile", "--reporter=append-only", "--loglevel=warn"], {
    cwd: root,
    env: environment(),
    stdio: ["ignore", "inherit", "inherit"],
  });
  writeFileSync(stamp, wanted);
}

/** Ends the child when this process is killed in a way that lets it do nothing about it (kill -9): its pipe ends without a line. */
function watch(child) {
  if (process.platform === "win32") return;
  const watchdog = spawn("sh", ["-c", 'read -r _ || kill -TERM "$0" 2>/dev/null', String(child.pid)], {
    stdio: ["pipe", "ignore", "ignore"],
    detached: true,
  });
  watchdog.unref();
  watchdog.stdin.unref?.();
  child.once("exit", () => watchdog.stdin.write("\n"));
}

/** npm started us, and npm may be killed: the wish to run went with it. */
function stopWithNpm(child) {
  if (!process.env.npm_lifecycle_event) return;
  const parent = process.ppid;
  setInterval(() => {
    if (process.ppid !== parent) child.kill("SIGTERM");
  }, 500).unref();
}

function run(command, args) {
  const child = spawn(command, args, { env: environment(), stdio: "inherit" });
  watch(child);
  stopWithNpm(child);
  // A terminal sends its signals to the whole group; the child decides when to go, we only pass on and wait.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
  child.on("error", (error) => {
    console.error(`${command}: ${error.message}`);
    process.exit(1);
  });
  child.on("exit", (code, signal) => process.exit(signal ? 128 + os.constants.signals[signal] : code));
}

const [major] = process.versions.node.split(".").map(Number);
if (major < oldestNode) {
  console.error(`Pgque's checkout needs Node.js ${oldestNode} or newer, this is ${process.versions.node}.`);
  process.exit(1);
}
install();
must("node", ["scripts/generate.mjs"]);
must("tsc", ["-b"]);
const [command, ...args] = process.argv.slice(2);
if (command) run(command, args);
