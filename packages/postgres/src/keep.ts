import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { Major } from "./binaries.ts";

/** What a server needs to be found again where it was. */
export interface Kept {
  password: string;
  port?: number;
}

const fileIn = (folder: string): string => path.join(folder, "server.json");

/**
 * What was kept in a folder, or a new password; made if it is not there. Begins a new log.
 *
 * @throws Error when the data in it is another major version's
 */
export function keep(folder: string, major: Major): Kept {
  mkdirSync(folder, { recursive: true });
  rmSync(path.join(folder, "log"), { force: true });
  const file = fileIn(folder);
  if (!existsSync(file)) {
    const kept = { major, password: randomBytes(18).toString("base64url") };
    write(folder, kept);
    return kept;
  }
  const kept = JSON.parse(readFileSync(file, "utf8")) as Kept & { major: number };
  if (kept.major === major) return kept;
  throw new Error(`expected data of PostgreSQL ${major} in ${folder}, found that of PostgreSQL ${kept.major}`);
}

/** Keeps the port that a server came to listen on. */
export function remember(folder: string, { major, password, port }: Kept & { major: Major }): void {
  write(folder, { major, password, port });
}

function write(folder: string, kept: object): void {
  // the password is nobody else's
  writeFileSync(fileIn(folder), JSON.stringify(kept), { mode: 0o600 });
}
