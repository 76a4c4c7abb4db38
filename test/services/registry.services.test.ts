import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  appendFileSync,
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import os from "node:os";
import path from "node:path";
import { beforeAll, expect, test } from "vitest";
import { until } from "../support/until.ts";
import { type Registry, startRegistry } from "./verdaccio.ts";

const root = path.resolve(import.meta.dirname, "../..");
const { version } = JSON.parse(readFileSync(path.join(root, "package.json"), "utf8")) as { version: string };
const names = Object.keys(
  (JSON.parse(readFileSync(path.join(root, "release.json"), "utf8")) as { packages: object }).packages,
);
let folder: string;
let tree: string;
let registry: Registry;

beforeAll(async () => {
  folder = mkdtempSync(path.join(os.tmpdir(), "pgque registry "));
  // the user of a server that root starts has to reach it
  chmodSync(folder, 0o711);
  tree = path.join(folder, "tree");
  releasable();
  registry = await startRegistry(path.join(folder, "registry"));
  return async () => {
    await registry[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true });
  };
}, 300_000);

test("a dry run says what would be published, and publishes nothing", { timeout: 300_000 }, () => {
  const { status, stdout, stderr } = publish("--dry-run");
  expect({ status, refused: stderr.match(/^refused: .*/gm) }).toEqual({ status: 0, refused: null });
  expect(stdout).toContain(`would publish ${version} as "latest" to ${registry.url}\nwithout provenance: `);
  expect(stdout.match(/would be published/g)).toHaveLength(names.length);
  expect(names.map(isPublished)).toEqual(names.map(() => false));
});

test("a run goes on where one has stopped, and a further one finds all of it there", { timeout: 300_000 }, () => {
  const [first = ""] = names;
  const tarball = `${first.replace("@", "").replace("/", "-")}-${version}.tgz`;
  run(tree, "npm", ["publish", "--access", "public", path.join("results/release", tarball)], publisher());

  const { status, stdout, stderr } = publish();
  expect({ status, stderr: status === 0 ? "" : stderr }).toEqual({ status: 0, stderr: "" });
  expect(stdout.match(/^\S+@\S+ is .*(?=: )/gm)).toEqual(
    names.map((name) => `${name}@${version} is ${name === first ? "there already" : "published now"}`),
  );
  expect(names.map(isPublished)).toEqual(names.map(() => true));
  expect(publish().stdout.match(/is there already/g)).toHaveLength(names.length);
});

test("an empty machine runs the first minute and the benchmark from the registry", { timeout: 600_000 }, async () => {
  const home = path.join(folder, "home");
  const project = path.join(home, "first-minute");
  mkdirSync(home);
  const env = {
    HOME: home,
    PATH: [path.dirname(process.execPath), "/usr/local/bin", "/usr/bin", "/bin"].join(path.delimiter),
    npm_config_registry: registry.url,
  };
  const example = readFileSync(path.join(root, "docs/examples/command-line/first-minute.sh"), "utf8");
  const block = example
    .replace(/^checkout=.*\n/, "")
    .replace("../first-minute && cd ../first-minute", "first-minute && cd first-minute")
    .replace('"$checkout"/results/packages/*.tgz', "pgque @pgque/client @pgque/worker")
    .replace('"$checkout"', `"${root}"`);
  expect(block).not.toContain("$checkout");
  const child = spawn("bash", ["-euc", block], { cwd: home, env, detached: true });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (data: Buffer) => (output += data.toString()));
  const closed = once(child, "close");
  await until(
    () => child.exitCode !== null || (output.includes("charged 42") && output.includes("charged 43")),
    "both orders are charged",
    300_000,
  ).catch((error: unknown) => expect.fail(`${String(error)}:\n${output}`));
  expect(output).toMatch(/charged 43/);
  expect(output.match(/@pgque\/postgres is not installed: npm fetches/g)).toHaveLength(1);
  process.kill(-(child.pid ?? 0), "SIGINT");
  await closed;

  // a system of the project is found by a benchmark in npm's cache
  run(project, "npm", ["install", "graphile-worker@0.18"], env);
  const cell = [
    "--quick",
    "--duration",
    "1",
    "--systems",
    "pgque,graphile-worker",
    "--horizons",
    "none",
    "--results",
    "results",
  ];
  const bench = run(project, "npx", ["pgque", "bench", ...cell], env);
  expect(bench.stderr.match(/@pgque\/bench is not installed: npm fetches/g)).toHaveLength(1);
  const report = readFileSync(path.join(project, "results/report.html"), "utf8");
  expect(report).toContain("Leon Sorokin");
  expect(report).not.toContain("is not installed");
  const manifest = readFileSync(path.join(project, "node_modules/@pgque/client/package.json"), "utf8");
  expect(JSON.parse(manifest)).toMatchObject({ repository: { directory: "packages/client" }, published: true });
});

test("another package in the same version is refused", { timeout: 300_000 }, () => {
  appendFileSync(path.join(tree, "packages/client/README.md"), "One more line.\n");
  commit();
  const { status, stderr } = publish();
  expect({ status, stderr }).toEqual({
    status: 1,
    stderr: expect.stringMatching(
      /^error: expected @pgque\/client@\S+ in the registry to be this one, .* found sha512-/m,
    ),
  });
});

/** Makes a copy of this tree in which nothing stands in the way of a release. */
function releasable(): void {
  const { stdout } = run(root, "git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
  for (const file of stdout.split("\0").filter(Boolean)) {
    cpSync(path.join(root, file), path.join(tree, file));
    if (!file.endsWith(".md")) continue;
    const text = readFileSync(path.join(tree, file), "utf8");
    writeFileSync(path.join(tree, file), text.replaceAll(/not on npm yet|Nothing has been published/g, "on npm"));
  }
  const details = JSON.parse(readFileSync(path.join(tree, "release.json"), "utf8")) as object;
  const filled = {
    repository: "git+https://example.org/pgque.git",
    homepage: "https://example.org/pgque",
    bugs: "https://example.org/pgque/issues",
    security: "security@example.org",
  };
  writeFileSync(path.join(tree, "release.json"), JSON.stringify({ ...details, ...filled }));
  appendFileSync(path.join(tree, "SECURITY.md"), "\nWrite to security@example.org.\n");
  appendFileSync(path.join(tree, "CHANGELOG.md"), `\n## [${version}] - 2026-01-31\n`);
  run(tree, process.execPath, ["scripts/freeze.mjs"]);
  run(tree, "git", ["init", "--quiet"]);
  commit();
}

function commit(): void {
  run(tree, "git", ["add", "--all"]);
  const ada = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"];
  run(tree, "git", [...ada, "commit", "--quiet", "--message", "a release"]);
  run(tree, "git", ["tag", "--force", `v${version}`]);
}

const publisher = () => ({
  ...process.env,
  npm_config_registry: registry.url,
  npm_config_userconfig: registry.userconfig,
});

function publish(...args: string[]) {
  return spawnSync(process.execPath, ["scripts/publish.mjs", ...args], {
    cwd: tree,
    env: publisher(),
    encoding: "utf8",
  });
}

function isPublished(name: string): boolean {
  const { status } = spawnSync("npm", ["view", `${name}@${version}`, "version", "--prefer-online"], {
    env: publisher(),
  });
  return status === 0;
}

function run(cwd: string, command: string, args: string[], env: NodeJS.ProcessEnv = process.env) {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, env, encoding: "utf8" });
  if (status !== 0) throw new Error(`${command} ${args.join(" ")} ended with ${status}:\n${stdout}${stderr}`);
  return { stdout, stderr };
}
