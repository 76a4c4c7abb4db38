import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { openSync } from "node:fs";
import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";

const startTimeoutMs = 60_000;

/** Runs the Docker client. */
export function docker(args, options = {}) {
  return spawnSync("docker", args, { stdio: "ignore", ...options });
}

/** The engine that answers, or a new one with everything of its own in a folder. */
export async function startEngine(folder) {
  const given = process.env["DOCKER_HOST"] ?? "unix:///var/run/docker.sock";
  if (docker(["version"]).status === 0) return { host: given, variables: {}, stop: async () => undefined };
  const host = `unix://${folder}/docker.sock`;
  const log = path.join(folder, "dockerd.log");
  const output = openSync(log, "a");
  // without rules of its own: the machine's packet filter stays as it is
  const flags = [
    "--iptables=false",
    "--ip6tables=false",
    "--data-root",
    `${folder}/data`,
    "--exec-root",
    `${folder}/exec`,
  ];
  const engine = spawn("dockerd", [...flags, "--pidfile", `${folder}/pid`, "-H", host], {
    stdio: ["ignore", output, output],
    detached: true,
  });
  const exited = once(engine, "exit");
  const stop = async () => {
    engine.kill("SIGTERM");
    await exited;
    // the network of the machine, if a container or a build has used it: what is mounted cannot be removed
    spawnSync("umount", [`${folder}/exec/netns/default`], { stdio: "ignore" });
  };
  const deadline = performance.now() + startTimeoutMs;
  while (docker(["-H", host, "version"]).status !== 0) {
    if (engine.exitCode !== null || performance.now() > deadline) {
      console.error(spawnSync("tail", ["-n", "20", log], { encoding: "utf8" }).stdout);
      if (engine.exitCode === null) await stop();
      throw new Error("expected a Docker engine to start; the end of its log is above");
    }
    await pause(250);
  }
  // its reaper is an image that would have to be pulled; what is left is removed with the engine
  const variables = { TESTCONTAINERS_RYUK_DISABLED: "true", TESTCONTAINERS_HOST_OVERRIDE: "127.0.0.1" };
  return { host, variables: { ...variables, DOCKER_HOST: host }, stop };
}
