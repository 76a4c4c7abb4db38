import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { freePort } from "@pgque/postgres";
import { until } from "../support/until.ts";

/** A private npm registry on loopback. */
export interface Registry extends AsyncDisposable {
  url: string;
  /** npm's settings of one who may publish there: a file. */
  userconfig: string;
}

/** Starts an empty one in a folder. What is not Pgque's comes from the registry that npm is configured with. */
export async function startRegistry(folder: string): Promise<Registry> {
  mkdirSync(folder);
  const port = await freePort();
  const url = `http://127.0.0.1:${port}/`;
  const upstream = spawnSync("npm", ["config", "get", "registry"], { encoding: "utf8" }).stdout.trim();
  const ours = { access: "$all", publish: "$authenticated" };
  // YAML takes JSON as it is
  const config = {
    storage: path.join(folder, "storage"),
    auth: { htpasswd: { file: path.join(folder, "htpasswd") } },
    uplinks: { upstream: { url: upstream, timeout: "60s" } },
    packages: { "@pgque/*": ours, pgque: ours, "**": { access: "$all", proxy: "upstream" } },
    max_body_size: "50mb",
    web: { enable: false },
    log: { type: "stdout", format: "json", level: "warn" },
  };
  writeFileSync(path.join(folder, "config.yaml"), JSON.stringify(config));
  const program = process.env["PGQUE_TEST_VERDACCIO"] ?? "";
  const args = [program, "--config", path.join(folder, "config.yaml"), "--listen", `127.0.0.1:${port}`];
  const server = spawn(process.execPath, args, { cwd: folder, stdio: ["ignore", "ignore", "inherit"] });
  const isThere = () =>
    fetch(new URL("-/ping", url)).then(
      ({ ok }) => ok,
      () => false,
    );
  await until(() => server.exitCode !== null || isThere(), "the registry answers", 60_000);
  const answer = await fetch(new URL("-/user/org.couchdb.user:ada", url), {
    method: "PUT",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ name: "ada", password: "a password of a test" }),
  });
  const { token } = (await answer.json()) as { token: string };
  const userconfig = path.join(folder, "npmrc");
  writeFileSync(userconfig, `//127.0.0.1:${port}/:_authToken=${token}\n`);
  return {
    url,
    userconfig,
    async [Symbol.asyncDispose]() {
      const closed = once(server, "close");
      server.kill("SIGKILL");
      await closed;
    },
  };
}
