#!/usr/bin/env node
// Installs the programs that the services tier needs from Debian's packages, starts a Docker engine of its own unless one
// answers, runs a command with all of it, and stops what it started. Whatever is missing is a failure.
//
//   node scripts/services.mjs vitest run --project services
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { docker, startEngine } from "./services/docker.mjs";
import { install } from "./services/debian.mjs";
import { fetchPgmq } from "./services/pgmq.mjs";
import { postgresOfTrixie } from "./services/trixie.mjs";
import { verdaccio } from "./services/verdaccio.mjs";

const postgres15 = "/usr/lib/postgresql/15/bin";
const pgqSql = "/usr/share/postgresql/15/contrib/pgq_pl_only.sql";

/** Program, or another file → the package that has it. */
const programs = {
  pgbouncer: "pgbouncer",
  "redis-server": "redis-server",
  "/usr/bin/chromium": "chromium",
  docker: "docker.io",
  dockerd: "docker.io",
  "docker-compose": "docker-compose",
  busybox: "busybox-static",
  [`${postgres15}/postgres`]: "postgresql-15",
  patchelf: "patchelf",
  [pgqSql]: "postgresql-15-pgq3",
  pip3: "python3-pip",
  faketime: "faketime",
};

const image = "postgres:15";
const nodeImage = "node:24-slim";

/** What is run in containers: the image that is there, else the registry's, else one that a script makes of what this machine has. */
function ensureImage(image, script) {
  if (docker(["image", "inspect", image]).status === 0) return;
  if (docker(["pull", "--quiet", image], { timeout: 120_000 }).status === 0) return;
  console.error(`${image} cannot be pulled: making one …`);
  const made = spawnSync("bash", [path.join(import.meta.dirname, "services", script), image], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  if (made.status !== 0) throw new Error(`could not make ${image}`);
}

/** The command's exit code. */
function run([command, ...args], variables) {
  const child = spawn(command, args, { env: { ...process.env, ...variables }, stdio: "inherit" });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("exit", (code, signal) => resolve(signal ? 128 + os.constants.signals[signal] : code));
  });
}

install(programs);
const folder = mkdtempSync(path.join(os.tmpdir(), "pgque-services-"));
const engine = await startEngine(folder);
try {
  process.env["DOCKER_HOST"] = engine.host;
  ensureImage(image, "postgres-image.sh");
  ensureImage(nodeImage, "node-image.sh");
  const sqlFiles = { PGQUE_TEST_PGQ_SQL: pgqSql, PGQUE_TEST_PGMQ_SQL: fetchPgmq(folder) };
  const stock = { PGQUE_TEST_STOCK_15: postgres15, PGQUE_TEST_STOCK_17: postgresOfTrixie() };
  const images = { PGQUE_TEST_IMAGE: image, PGQUE_TEST_NODE_IMAGE: nodeImage };
  const registry = { PGQUE_TEST_VERDACCIO: verdaccio() };
  const variables = { ...images, ...registry, ...sqlFiles, ...stock, ...engine.variables };
  process.exitCode = await run(process.argv.slice(2), variables);
} finally {
  await engine.stop();
  rmSync(folder, { recursive: true, force: true });
}
