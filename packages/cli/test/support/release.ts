import { rm } from "node:fs/promises";
import path from "node:path";
import { onTestFinished } from "vitest";
import type { Release } from "@pgque/sql";
import { laterPackages } from "../../../../test/support/later-packages.ts";
import { type Ended, Running } from "./pgque.ts";

/** The command as a later version of Pgque would ship it. */
export interface LaterCommand {
  start: (args: string[], env: Record<string, string>) => Running;
  run: (args: string[], env: Record<string, string>) => Promise<Ended>;
}

export async function release(later: Release): Promise<LaterCommand> {
  const folder = await laterPackages(later);
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const start: LaterCommand["start"] = (args, env) =>
    new Running(args, env, undefined, "", path.join(folder, "node_modules/pgque/bin/pgque.js"));
  return { start, run: (args, env) => start(args, env).ended };
}
