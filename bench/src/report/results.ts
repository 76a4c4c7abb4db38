import type { Server, ServerSettings } from "../runner/server.ts";
import os from "node:os";
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";

/** Raised when a field that other programs rely on changes its meaning or goes away. */
export const resultsVersion = 2;

/** One figure over the repeats of a trial that have it. */
export interface Spread {
  median: number;
  min: number;
  max: number;
}

/** A major that was asked for among others, and what became of it. */
export interface MajorRun {
  major: number;
  /** As in "17.10"; null when it could not be started. */
  postgres: string | null;
  /** What the server itself says of its settings. */
  server: Record<string, string> | null;
  /** Why it could not be started, and nothing was run on it. */
  skipped: string | null;
}

/** What results.json begins with, whatever the scenario. */
export interface ResultsHead {
  schemaVersion: typeof resultsVersion;
  scenario: string;
  /** ISO 8601. */
  startedAt: string;
  machine: Machine;
  /** Absent in runs of before it was noted. */
  code?: MeasuredCode;
  /** What it was run with on the command line, without connections and files. Absent when it was run by a program. */
  command?: string;
  /** Where more than one was asked for; settings.server is then the first one's. */
  majors?: MajorRun[];
}

/** Without the connection string, which may hold a password, and without names of files. */
export type ReportedSettings<Scenario> = Omit<Scenario, "databaseUrl" | "resultsFolder" | "baselineFile"> & {
  indicative: boolean;
  server: Record<string, string>;
  embedded: boolean;
};

/** What results say of the settings of a run. */
export function reportedSettings<
  Scenario extends ServerSettings & { resultsFolder: string | null; baselineFile?: string | null },
>(settings: Scenario, indicative: boolean, server: Server): ReportedSettings<Scenario> {
  const { databaseUrl: _secret, resultsFolder: _folder, baselineFile: _baseline, ...reported } = settings;
  return { ...reported, indicative, server: server.settings, embedded: server.embedded };
}

export interface Machine {
  cpu: string;
  cores: number;
  memoryBytes: number;
  platform: string;
  node: string;
}

export function machine(): Machine {
  const cpus = os.cpus();
  return {
    cpu: cpus[0]?.model.trim() ?? "unknown",
    cores: os.availableParallelism(),
    memoryBytes: os.totalmem(),
    platform: `${os.platform()} ${os.release()} ${os.arch()}`,
    node: process.versions.node,
  };
}

export function machineLine({ cpu, cores, memoryBytes, platform, node }: Machine): string {
  return `${cpu}, ${cores} cores, ${Math.round(memoryBytes / 2 ** 30)} GiB, ${platform}, Node.js ${node}. The harness runs on the same machine as an embedded server.`;
}

const run = promisify(execFile);
const folder = new URL("../../", import.meta.url);

/** The code that a run has measured. */
export interface MeasuredCode {
  /** Of @pgque/bench, which is that of all packages. */
  version: string;
  /** Of the checkout, with "-dirty" when it has changes of its own. Null: not a checkout. */
  commit: string | null;
}

export async function measuredCode(): Promise<MeasuredCode> {
  const { version } = JSON.parse(await readFile(new URL("package.json", folder), "utf8")) as { version: string };
  return { version, commit: await commitOf().catch(() => null) };
}

/** In a project that has this package as a dependency, git knows a repository, but not this file in it. */
async function commitOf(): Promise<string> {
  await run("git", ["ls-files", "--error-unmatch", "package.json"], { cwd: folder });
  const { stdout } = await run("git", ["describe", "--always", "--dirty", "--abbrev=12"], { cwd: folder });
  return stdout.trim();
}

/** The server's settings that matter, in one line. */
export function serverLine({ embedded, server }: { embedded: boolean; server: Record<string, string> }): string {
  const settings = Object.entries(server).map(([name, value]) => `${name} ${value}`);
  return `PostgreSQL, ${embedded ? "embedded" : "given"}: ${settings.join(", ")}`;
}

/** Which server it is and how it commits, for the first lines of a run. */
export function postgresLine(
  settings: { embedded: boolean; server: Record<string, string>; synchronousCommit: string },
  postgres: string,
  place: string,
): string {
  return (
    `PostgreSQL ${postgres} ${settings.embedded ? "(embedded, started for this run)" : `at ${place}`}, ` +
    `fsync ${settings.server["fsync"]}, synchronous_commit ${settings.synchronousCommit}`
  );
}
