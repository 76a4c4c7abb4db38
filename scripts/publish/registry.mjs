// The registry that npm is configured with, through npm itself: whoever publishes has named and authorised it there.
import { spawnSync } from "node:child_process";

const answerTimeoutMs = 30_000;

/**
 * Its address, without credentials.
 *
 * @param {string[]} names of the packages
 * @throws Error when npm would use more than one for them
 */
export function registryUrl(names) {
  const scopes = new Set(names.filter((name) => name.startsWith("@")).map((name) => name.split("/")[0]));
  const settings = ["registry", ...[...scopes].map((scope) => `${scope}:registry`)];
  const configured = settings.map((setting) => npm(["config", "get", setting]).stdout.trim());
  const urls = new Set(configured.filter((url) => url !== "undefined").map(withoutCredentials));
  if (urls.size > 1) throw new Error(`expected one registry for all packages, npm has ${[...urls].join(" and ")}`);
  return [...urls][0];
}

function withoutCredentials(url) {
  const { protocol, host, pathname } = new URL(url);
  return `${protocol}//${host}${pathname.replace(/\/*$/, "/")}`;
}

/**
 * @returns the integrity of a published version, `sha512-…`; undefined when there is none
 * @throws Error when the registry does not say
 */
export function publishedIntegrity(name, version) {
  const { status, stdout, stderr } = npm(["view", `${name}@${version}`, "dist.integrity", "--json", "--prefer-online"]);
  const answer = stdout.trim() === "" ? undefined : JSON.parse(stdout);
  if (status === 0) return answer;
  if (answer?.error?.code === "E404") return undefined;
  throw new Error(`expected the registry to know whether ${name}@${version} is there, npm said: ${stderr.trim()}`);
}

/**
 * Why a version cannot be published with its provenance; undefined when it can. npm makes one in a CI that can prove who it is, and a registry
 * that keeps one also has keys.
 */
export async function withoutProvenance(registry, env = process.env) {
  const canProve = (env.GITHUB_ACTIONS && env.ACTIONS_ID_TOKEN_REQUEST_URL) || (env.GITLAB_CI && env.SIGSTORE_ID_TOKEN);
  if (!canProve) return "this is no CI that proves to others who it is";
  const answer = await fetch(new URL("-/npm/v1/keys", registry), { signal: AbortSignal.timeout(answerTimeoutMs) });
  const { keys = [] } = answer.ok ? await answer.json() : {};
  return keys.length > 0 ? undefined : "the registry has no keys to sign with";
}

/** @throws Error when npm fails, which has printed why */
export function publish(tarball, { tag, provenance }) {
  const args = ["publish", tarball, "--access", "public", "--tag", tag, ...(provenance ? ["--provenance"] : [])];
  const { status } = npm(args, { stdio: ["inherit", "inherit", "inherit"] });
  if (status !== 0) throw new Error(`expected npm to publish ${tarball}; it printed why not. Run this again to go on`);
}

function npm(args, options = {}) {
  const result = spawnSync("npm", args, { encoding: "utf8", ...options });
  if (result.error) throw new Error(`npm cannot be run: ${result.error.message}`);
  return result;
}
