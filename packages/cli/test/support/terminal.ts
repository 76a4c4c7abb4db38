import { stripVTControlCharacters } from "node:util";
import { type IPty, spawn } from "@lydell/node-pty";
import { onTestFinished } from "vitest";
import { until } from "../../../../test/support/until.ts";
import { bin, environment } from "./pgque.ts";

/** A `pgque` process at a terminal of its own. */
export class Terminal {
  readonly #pty: IPty;
  readonly #ended: Promise<number>;
  /** All that it has written, control sequences included. */
  output = "";

  constructor(args: string[], env: Record<string, string>, { columns = 120, rows = 20 } = {}) {
    const variables = Object.entries(environment({ TERM: "xterm-256color", ...env }));
    this.#pty = spawn(process.execPath, [bin, ...args], {
      cols: columns,
      rows,
      env: Object.fromEntries(variables.filter(([, value]) => value !== undefined)) as Record<string, string>,
    });
    this.#pty.onData((data) => (this.output += data));
    this.#ended = new Promise((resolve) => this.#pty.onExit(({ exitCode }) => resolve(exitCode)));
    onTestFinished(() => {
      try {
        this.#pty.kill("SIGKILL");
      } catch {
        // it has ended
      }
    });
  }

  get ended(): Promise<number> {
    return this.#ended;
  }

  /** What was drawn last, a string a line, without control sequences. */
  get screen(): string[] {
    const frames = this.output.split("\u001b[?2026h").filter((frame) => frame.includes("\u001b[?2026l"));
    const last = (frames.at(-1) ?? "").split("\u001b[?2026l", 1)[0] ?? "";
    return stripVTControlCharacters(last).trimEnd().split(/\r+\n/);
  }

  /** Waits until the screen is such. */
  async shows(condition: (screen: string[]) => boolean, what: string): Promise<string[]> {
    await until(() => condition(this.screen), what).catch((cause: unknown) => {
      throw new Error(`expected that ${what}, found:\n${this.screen.join("\n")}`, { cause });
    });
    return this.screen;
  }

  press(keys: string): void {
    this.#pty.write(keys);
  }

  resize(columns: number, rows: number): void {
    this.#pty.resize(columns, rows);
  }

  kill(signal: string): void {
    this.#pty.kill(signal);
  }
}

/** A command that asks questions. */
export interface Dialogue {
  /** Waits until it has written this. */
  shows(text: string): Promise<void>;
  type(keys: string): void;
  ended: Promise<{ code: number; screen: string }>;
}

export function onTerminal(args: string[], env: Record<string, string>): Dialogue {
  const terminal = new Terminal(args, env, { columns: 200, rows: 40 });
  return {
    shows: (text) =>
      until(
        () => terminal.output.includes(text),
        `the terminal shows ${JSON.stringify(text)}, it shows: ${terminal.output}`,
      ),
    type: (keys) => terminal.press(keys),
    ended: terminal.ended.then((code) => ({ code, screen: terminal.output })),
  };
}
