// What release.json says of all packages: their names, where they come from, and who answers for them. It is written once there and goes into
// each package.json when that is packed.
import { readFileSync } from "node:fs";
import path from "node:path";

/** What has to be known before anything is published, and what it is. */
const required = {
  repository: "the URL that git clones, for example git+https://example.org/pgque.git",
  homepage: "the page that the registry links to",
  bugs: "the URL where bugs are reported",
  security: "the e-mail address or URL where vulnerabilities are reported",
};

/**
 * @param {string} root the folder of release.json
 * @returns {{packages: Record<string, string>, repository: string, homepage: string, bugs: string, security: string, keywords: string[]}}
 *   `packages`: folders by name, each package behind those that it needs
 * @throws Error when a package has another name
 */
export function readDetails(root) {
  const details = JSON.parse(readFileSync(path.join(root, "release.json"), "utf8"));
  for (const [name, folder] of Object.entries(details.packages)) {
    const { name: found } = JSON.parse(readFileSync(path.join(root, folder, "package.json"), "utf8"));
    if (found !== name) throw new Error(`expected ${folder}/package.json to have the name ${name}, found ${found}`);
  }
  return details;
}

/** A sentence for each field of release.json that is still empty. */
export function missingDetails(details) {
  return Object.entries(required)
    .filter(([field]) => !details[field])
    .map(([field, meaning]) => `expected \`${field}\` in release.json: ${meaning}; it is empty`);
}

/** The package.json as it is published. What is not known yet is left out. */
export function withDetails(manifest, details) {
  const { repository, homepage, bugs, keywords } = details;
  const directory = details.packages[manifest.name];
  return {
    ...manifest,
    keywords,
    ...(homepage && { homepage }),
    ...(bugs && { bugs: { url: bugs } }),
    ...(repository && { repository: { type: "git", url: repository, directory } }),
  };
}
