// What has to hold before a version is published.
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { readMigrations, sqlFiles, sums } from "../release.mjs";
import { missingDetails, readDetails } from "./details.mjs";

/**
 * @param {string} root of a checkout
 * @returns {string[]} a sentence for each thing that is wrong: none means that the version may be published
 */
export function problemsOf(root) {
  const details = readDetails(root);
  const { version } = manifestIn(root, ".");
  return [
    ...treeProblems(root, version),
    ...versionProblems(root, version, Object.values(details.packages)),
    ...changelogProblems(readText(root, "CHANGELOG.md"), version),
    ...migrationProblems(path.join(root, "sql/migrations"), version),
    ...missingDetails(details),
    ...securityProblems(readText(root, "SECURITY.md"), details.security),
    ...documentProblems(root),
  ];
}

/** Whether a version is one of those that only come by their tag: 1.0.0-rc.1 */
export function isPrerelease(version) {
  return version.includes("-");
}

function treeProblems(root, version) {
  const changed = git(root, "status", "--porcelain");
  const tags = git(root, "tag", "--points-at", "HEAD").split("\n").filter(Boolean);
  return [
    ...(changed === "" ? [] : [`expected a clean tree, found changes:\n${changed}`]),
    ...(tags.includes(`v${version}`)
      ? []
      : [`expected the tag v${version} on this commit, found ${tags.join(", ") || "none"}`]),
  ];
}

function versionProblems(root, version, folders) {
  const [, schemaVersion] = /schemaVersion = "(.+)"/.exec(readText(root, "sql/src/version.ts")) ?? [];
  const found = {
    ...Object.fromEntries(folders.map((folder) => [`${folder}/package.json`, manifestIn(root, folder).version])),
    "sql/src/version.ts": schemaVersion,
  };
  return Object.entries(found)
    .filter(([, one]) => one !== version)
    .map(([file, one]) => `expected version ${version} in ${file}, as in package.json, found ${one}`);
}

function changelogProblems(changelog, version) {
  const headings = [...changelog.matchAll(/^## .*$/gm)].map(([heading]) => heading);
  const isOfVersion = (heading) => heading.startsWith(`## [${version}] - `) && /\d{4}-\d\d-\d\d$/.test(heading);
  if (headings.some(isOfVersion)) return [];
  return [`expected a heading "## [${version}] - <year>-<month>-<day>" in CHANGELOG.md, found ${headings.join(", ")}`];
}

/** Databases will have run what is published. A pre-release may leave its migrations open: they are those of the version to come. */
function migrationProblems(folder, version) {
  try {
    readMigrations(folder);
  } catch (error) {
    return [error.message];
  }
  const file = path.join(folder, sums);
  const frozen = existsSync(file) ? readFileSync(file, "utf8") : "";
  const open = sqlFiles(folder).filter((name) => !frozen.includes(`  ${name}\n`));
  if (isPrerelease(version) || (frozen !== "" && open.length === 0)) return [];
  const found = open.length === 0 ? "none" : `${open.join(", ")} not frozen`;
  return [`expected frozen migrations, found ${found}: run node scripts/freeze.mjs`];
}

function securityProblems(page, contact) {
  return page.includes(contact)
    ? []
    : [`expected SECURITY.md to name ${contact}, which release.json has as \`security\``];
}

/** Until the first release the documents say that there is none. */
function documentProblems(root) {
  const notYet = /not on npm yet|Nothing has been published/;
  return git(root, "ls-files", "-z", "*.md")
    .split("\0")
    .filter((file) => file !== "" && existsSync(path.join(root, file)) && notYet.test(readText(root, file)))
    .map(
      (file) =>
        `expected ${file} to say how a published package is installed, found "${notYet.exec(readText(root, file))[0]}"`,
    );
}

function git(root, ...args) {
  const { status, stdout, stderr, error } = spawnSync("git", args, { cwd: root, encoding: "utf8" });
  if (status !== 0) throw new Error(`git ${args.join(" ")} failed: ${error?.message ?? stderr}`);
  return stdout.trimEnd();
}

function manifestIn(root, folder) {
  return JSON.parse(readText(root, path.join(folder, "package.json")));
}

function readText(root, file) {
  return readFileSync(path.join(root, file), "utf8");
}
