import { writeSync } from "node:fs";
import ansi from "ansi-escapes";

/** A terminal of which the whole screen is drawn on, and which is given back as it was, however the process ends. */
export class Screen {
  readonly #in: typeof process.stdin;
  readonly #out: typeof process.stdout;
  readonly #onKey: (key: string) => void;
  readonly #onResize: () => void;
  #isOpen = false;

  constructor(
    terminal: { in: typeof process.stdin; out: typeof process.stdout },
    on: { key: (key: string) => void; resize: () => void },
  ) {
    [this.#in, this.#out] = [terminal.in, terminal.out];
    this.#onKey = on.key;
    this.#onResize = on.resize;
  }

  get width(): number {
    return this.#out.columns;
  }

  get height(): number {
    return this.#out.rows;
  }

  open(): void {
    this.#isOpen = true;
    // a crash ends the process by way of this event too
    process.on("exit", this.close);
    this.#in.setRawMode?.(true);
    this.#in.setEncoding("utf8").on("data", this.#onKey).resume();
    this.#out.on("resize", this.#onResize);
    this.#out.write(ansi.enterAlternativeScreen + ansi.cursorHide + ansi.clearViewport);
  }

  /** Draws the lines over what is there, at once. */
  draw(lines: readonly string[]): void {
    if (!this.#isOpen) return;
    // before each line: after one that fills the width it would erase the last character
    const text = lines.map((line) => ansi.eraseLine + line).join("\r\n");
    this.#out.write(ansi.synchronizedOutput(ansi.cursorTo(0, 0) + text + this.#eraseBelow(lines.length)));
  }

  #eraseBelow(lines: number): string {
    return lines < this.height ? `\r\n${ansi.eraseDown}` : "";
  }

  /** Gives the terminal back; does nothing the second time. */
  readonly close = (): void => {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    process.off("exit", this.close);
    this.#out.off("resize", this.#onResize);
    this.#in.off("data", this.#onKey).pause();
    try {
      this.#in.setRawMode?.(false);
      // not by the stream: the process may be about to end
      writeSync(this.#out.fd, ansi.cursorShow + ansi.exitAlternativeScreen);
    } catch {
      // the terminal is gone, and needs nothing any more
    }
  };
}
