/** Something that a line should not have, and where, from 1. */
export class Misread extends Error {
  readonly column: number;

  constructor(column: number, message: string) {
    super(message);
    this.column = column;
  }
}

/** A line that is read from left to right. */
export class Line {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text.trimEnd();
  }

  /** Where the next word begins. */
  get column(): number {
    this.#skipSpace();
    return this.#at + 1;
  }

  nextIs(pattern: RegExp): boolean {
    this.#skipSpace();
    return pattern.test(this.#text.slice(this.#at));
  }

  /** Whether the next word begins so; then that much is read. */
  skip(start: string): boolean {
    this.#skipSpace();
    if (!this.#text.startsWith(start, this.#at)) return false;
    this.#at += start.length;
    return true;
  }

  word(expected: string): { column: number; text: string } {
    const column = this.column;
    const [text] = /^\S+/.exec(this.#text.slice(this.#at)) ?? [];
    if (text === undefined) throw new Misread(column, `expected ${expected}, got: the end of the line`);
    this.#at += text.length;
    return { column, text };
  }

  /** A word, or a text in double quotes. */
  name(expected: string): string {
    const column = this.column;
    const [quoted] = /^"(?:[^"\\]|\\.)*"(?=\s|$)/.exec(this.#text.slice(this.#at)) ?? [];
    if (quoted !== undefined) {
      this.#at += quoted.length;
      return String(parse(quoted, column, "name"));
    }
    const { text } = this.word(expected);
    if (/^[?{["]/.test(text)) throw new Misread(column, `expected ${expected}, got: ${text}`);
    return text;
  }

  /** What is left, as JSON; an empty object when nothing is. */
  rest(what: string): unknown {
    const column = this.column;
    const left = this.#text.slice(this.#at);
    return left === "" ? {} : parse(left, column, what);
  }

  #skipSpace(): void {
    while (/\s/.test(this.#text.charAt(this.#at))) this.#at += 1;
  }
}

function parse(json: string, column: number, what: string): unknown {
  try {
    return JSON.parse(json);
  } catch (error) {
    const [, reason = "", position = "0"] =
      /^(.*?)(?: in JSON)?(?: at position (\d+).*)?$/s.exec((error as Error).message) ?? [];
    throw new Misread(column + Number(position), `expected the ${what} to be JSON, got: ${json} (${reason})`);
  }
}
