import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { beforeEach, expect, onTestFinished, test } from "vitest";

const root = path.resolve(import.meta.dirname, "..");
const { withoutProvenance } = (await import(path.join(root, "scripts/publish/registry.mjs"))) as {
  withoutProvenance: (registry: string, env: NodeJS.ProcessEnv) => Promise<string | undefined>;
};
const { problemsOf } = (await import(path.join(root, "scripts/publish/checks.mjs"))) as {
  problemsOf: (root: string) => string[];
};

const details = {
  packages: { "@pgque/sql": "sql", pgque: "packages/cli" },
  repository: "git+https://example.org/pgque.git",
  homepage: "https://example.org/pgque",
  bugs: "https://example.org/pgque/issues",
  security: "security@example.org",
  keywords: ["queue"],
};

/** A checkout that may be published, but for what a test changes of it. */
let tree: string;
let write: (file: string, text: string | object) => void;

beforeEach(() => {
  tree = mkdtempSync(path.join(os.tmpdir(), "pgque tree "));
  write = (file, text) => {
    mkdirSync(path.dirname(path.join(tree, file)), { recursive: true });
    writeFileSync(path.join(tree, file), typeof text === "string" ? text : JSON.stringify(text));
  };
  write("release.json", details);
  ofVersion("1.2.0");
  write("CHANGELOG.md", "# Changelog\n\n## [1.2.0] - 2026-05-04\n\n## [1.1.0] - 2026-01-02\n");
  write("SECURITY.md", "Write to security@example.org.");
  write("sql/migrations/001_first_release.sql", "-- 1.0.0\nselect 1;\n");
  freeze();
  git("init", "--quiet");
  commit("v1.2.0");
  return () => rmSync(tree, { recursive: true });
});

test("a tagged, clean and complete tree may be published", () => {
  expect(problemsOf(tree)).toEqual([]);
});

test("a changed tree, and a commit without the tag of its version, may not", () => {
  write("new file", "");
  expect(problemsOf(tree)).toEqual([expect.stringMatching(/^expected a clean tree, .*\n\?\? "new file"$/)]);
  commit("v1.3.0");
  expect(problemsOf(tree)).toEqual(["expected the tag v1.2.0 on this commit, found v1.3.0"]);
});

test("each field of release.json that is empty is named", () => {
  write("release.json", { ...details, repository: "", homepage: "", bugs: "", security: "" });
  expect(committed()).toEqual(
    ["repository", "homepage", "bugs", "security"].map((field) =>
      expect.stringContaining(`expected \`${field}\` in release.json: `),
    ),
  );
});

test("the page on security names the contact of release.json", () => {
  write("SECURITY.md", "Write to somebody.");
  expect(committed()).toEqual([expect.stringContaining("expected SECURITY.md to name security@example.org")]);
});

test("the documents no longer say that nothing is published", () => {
  write("docs/install.md", "Pgque is not on npm yet.");
  expect(committed()).toEqual([expect.stringContaining("expected docs/install.md to say how")]);
});

test("provenance needs a CI that proves who it is, and a registry with keys", async () => {
  const answers: Record<string, unknown> = {
    "/with/-/npm/v1/keys": { keys: [{}] },
    "/empty/-/npm/v1/keys": { keys: [] },
  };
  const server = createServer(({ url = "" }, response) => {
    response.writeHead(url in answers ? 200 : 404).end(JSON.stringify(answers[url]));
  });
  onTestFinished(() => void server.close());
  await once(server.listen(0, "127.0.0.1"), "listening");
  const registry = (name: string) => `http://127.0.0.1:${(server.address() as AddressInfo).port}/${name}/`;
  const ci = { GITHUB_ACTIONS: "true", ACTIONS_ID_TOKEN_REQUEST_URL: "https://example.org" };
  expect(await withoutProvenance(registry("with"), ci)).toBeUndefined();
  expect(await withoutProvenance(registry("with"), { GITLAB_CI: "true", SIGSTORE_ID_TOKEN: "a" })).toBeUndefined();
  expect(await withoutProvenance(registry("with"), { GITHUB_ACTIONS: "true" })).toContain("no CI that proves");
  expect(await withoutProvenance(registry("empty"), ci)).toContain("no keys");
  expect(await withoutProvenance(registry("none"), ci)).toContain("no keys");
});

test("all packages and the schema have the version of the workspace", () => {
  write("packages/cli/package.json", { name: "pgque", version: "1.1.0" });
  write("sql/src/version.ts", 'export const schemaVersion = "1.1.9";');
  expect(committed()).toEqual([
    "expected version 1.2.0 in packages/cli/package.json, as in package.json, found 1.1.0",
    "expected version 1.2.0 in sql/src/version.ts, as in package.json, found 1.1.9",
  ]);
});

test("a package of another name than release.json says stops everything", () => {
  write("packages/cli/package.json", { name: "pgqueue", version: "1.2.0" });
  expect(committed).toThrow("expected packages/cli/package.json to have the name pgque, found pgqueue");
});

test.each(["## [1.2.0] - unreleased", "## 1.2.0", "## [1.2.0-rc.1] - 2026-05-04"])(
  "the changelog has a dated section of the version, and not %s",
  (heading) => {
    write("CHANGELOG.md", `# Changelog\n\n${heading}\n`);
    expect(committed()).toEqual([expect.stringContaining(`in CHANGELOG.md, found ${heading}`)]);
  },
);

test("a migration that is not frozen, or has changed since, is named", () => {
  write("sql/migrations/002_more.sql", "-- 1.2.0\nselect 2;\n");
  expect(committed()).toEqual([expect.stringContaining("found 002_more.sql not frozen")]);
  freeze();
  write("sql/migrations/002_more.sql", "-- 1.2.0\nselect 3;\n");
  expect(committed()).toEqual([expect.stringContaining("expected sql/migrations/002_more.sql as it was released")]);
});

test("a pre-release may leave the migrations of its version open, and nothing else", () => {
  ofVersion("1.3.0-rc.1");
  write("sql/migrations/002_more.sql", "-- 1.3.0\nselect 2;\n");
  commit("v1.3.0-rc.1");
  expect(problemsOf(tree)).toEqual([expect.stringContaining('expected a heading "## [1.3.0-rc.1] - ')]);
});

function ofVersion(version: string): void {
  write("package.json", { name: "workspace", version });
  write("packages/cli/package.json", { name: "pgque", version });
  write("sql/package.json", { name: "@pgque/sql", version });
  write("sql/src/version.ts", `export const schemaVersion = "${version}";`);
}

function freeze(): void {
  run(process.execPath, path.join(root, "scripts/freeze.mjs"), path.join(tree, "sql"));
}

/** What is wrong once the tree as it is now has the tag. */
function committed(): string[] {
  commit("v1.2.0");
  return problemsOf(tree);
}

function commit(tag: string): void {
  git("add", "--all");
  git("-c", "user.name=Ada", "-c", "user.email=ada@example.org", "commit", "--quiet", "--message", "a change");
  git("tag", "--force", tag);
}

const git = (...args: string[]): void => run("git", "-C", tree, ...args);

function run(command: string, ...args: string[]): void {
  const { status, stderr } = spawnSync(command, args, { encoding: "utf8" });
  if (status !== 0) throw new Error(`${command} ${args.join(" ")} failed:\n${stderr}`);
}
