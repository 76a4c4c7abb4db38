import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { onTestFinished } from "vitest";
import { until } from "../../../../test/support/until.ts";

export const bin = path.resolve(import.meta.dirname, "../../bin/pgque.js");

const databaseVariables = ["DATABASE_URL", "PGHOST", "PGPORT", "PGUSER", "PGPASSWORD", "PGDATABASE"];
// Node takes a terminal for one without colors if CI is set, whatever it is set to.
const colorVariables = ["CI", "NO_COLOR", "FORCE_COLOR", "NODE_DISABLE_COLORS", "COLORTERM"];
const unset = new Set([...databaseVariables, ...colorVariables]);

/** Most commands are over in a moment, of which compiling takes a quarter. */
const compiled = path.resolve(import.meta.dirname, "../../../../node_modules/.cache/node-compile");

/** Nothing of the environment that names a database or speaks of colors, unless the test says so. */
export function environment(variables: Record<string, string> = {}): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !unset.has(name));
  return { ...Object.fromEntries(kept), NODE_COMPILE_CACHE: compiled, ...variables };
}

export interface Ended {
  code: number | null;
  out: string;
  err: string;
}

/** A `pgque` process; what it has written so far can be read and waited for. */
export class Running {
  readonly child: ChildProcess;
  readonly #ended: Promise<Ended>;
  out = "";
  err = "";

  /**
   * `input`: what it reads from standard input; null: that is left open, for the test to write to. `program`: the command, if not the one
   * that is tested.
   */
  constructor(
    args: string[],
    env: Record<string, string>,
    cwd?: string,
    input: string | Uint8Array | null = "",
    program = bin,
  ) {
    this.child = spawn(process.execPath, [program, ...args], {
      cwd,
      env: environment(env),
      stdio: ["pipe", "pipe", "pipe"],
    });
    this.child.stdout?.on("data", (chunk: Buffer) => (this.out += chunk.toString()));
    this.child.stderr?.on("data", (chunk: Buffer) => (this.err += chunk.toString()));
    // one that does not read all of it may end before
    this.child.stdin?.on("error", () => undefined);
    if (input !== null) this.child.stdin?.end(input);
    this.#ended = once(this.child, "close").then(([code]) => ({ code, out: this.out, err: this.err }));
    onTestFinished(() => void this.child.kill("SIGKILL"));
  }

  get ended(): Promise<Ended> {
    return this.#ended;
  }

  /** Waits until it has written this to standard output. */
  async says(text: string): Promise<void> {
    await until(
      () => {
        if (this.child.exitCode !== null) throw new Error(`ended with ${this.child.exitCode}: ${this.out}${this.err}`);
        return this.out.includes(text);
      },
      `pgque says ${JSON.stringify(text)}, it said: ${this.out}${this.err}`,
    );
  }

  kill(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }
}

/** Runs the command to its end. */
export function pgque(args: string[], env: Record<string, string> = {}, input?: string | Uint8Array): Promise<Ended> {
  return new Running(args, env, undefined, input).ended;
}
