import type { Message, PayloadIssue, PgqueError } from "@pgque/client";
import { sanitize } from "@pgque/client/redact";

/** What stands where something of a payload stood. */
const mask = "…";

/** Of a value of so few characters only whole words are hidden: a 1 is not to be the end of every 10. */
const shortChars = 3;

/** To look for more values and keys than these would keep the process from other work. */
const needlesMax = 10_000;

/** What schemas say themselves. A payload that is a long text has many of these words in it. */
const ownWords = new Set(
  (
    "expected received invalid input output value type string number bigint boolean object array date null undefined required optional missing unknown " +
    "unrecognized unexpected must should cannot have contain contains match matches pattern format least most than less greater equal exactly between " +
    "minimum maximum length character characters item items element elements small large short long property properties union option options " +
    "the schema threw answer within email uuid integer positive negative finite empty valid true false with from this that into"
  ).split(" "),
);

/**
 * Hides what comes from a payload in what a schema says about it: every string, number, boolean and key of it, as it is, in other letter case, with
 * other separators, in quotes or in part. Rather too much is hidden than too little.
 */
export class PayloadMask {
  /** As they are. */
  readonly #texts: readonly string[];
  /** Of a payload with too many none are made, and every sentence is hidden. */
  readonly #isLarge: boolean;
  readonly #values: readonly Needle[];
  readonly #keys: readonly Needle[];
  readonly #numbers = new Set<number>();
  /** All of it in the form in which words are looked up. */
  readonly #all: string;

  constructor(payload: unknown) {
    const values = new Set<string>();
    const keys = new Set<string>();
    const left = [payload];
    while (left.length > 0) {
      const value = left.pop();
      if (typeof value === "object" && value !== null) {
        for (const part of Object.values(value)) left.push(part);
        if (!Array.isArray(value)) for (const key of Object.keys(value)) keys.add(key);
      } else if (typeof value === "string" || typeof value === "number" || typeof value === "boolean") {
        values.add(String(value));
        if (typeof value === "number") this.#numbers.add(value);
      }
    }
    // of no characters, and so everywhere
    for (const texts of [values, keys]) texts.delete("");
    this.#texts = Array.from(values);
    this.#isLarge = values.size + keys.size > needlesMax;
    this.#values = this.#isLarge ? [] : this.#texts.flatMap(needles);
    this.#keys = this.#isLarge ? [] : Array.from(keys).flatMap(needles);
    this.#all = [...this.#values, ...this.#keys].map(({ folded }) => folded).join("\n");
  }

  /** A sentence of a schema. */
  text(sentence: string): string {
    if (this.#isLarge) return mask;
    const hidden = new Hidden(sanitize(sentence));
    for (const one of [...this.#values, ...this.#keys]) hidden.hide(one);
    hidden.hideWords((word) => word.length > shortChars && !ownWords.has(word) && this.#all.includes(word));
    hidden.hideNumbers(this.#numbers);
    return this.#sure(hidden.toString());
  }

  /** The place of an issue: keys that look like names stay, unless they are a value too. */
  path(path: string): string {
    const hidden = new Hidden(sanitize(path).replaceAll(/\["(?:[^"\\]|\\.)*"\]/g, `["${mask}"]`));
    for (const one of this.#values) if (one.text.length > shortChars) hidden.hide(one);
    return this.#sure(hidden.toString());
  }

  /** Nothing at all rather than a value. */
  #sure(text: string): string {
    return this.#texts.some((value) => value.length > shortChars && text.includes(value)) ? mask : text;
  }
}

/** Something that is looked for. */
interface Needle {
  text: string;
  folded: string;
}

/** A value as it is, as JSON has it and as a log shows it. */
function needles(text: string): Needle[] {
  const forms = new Set([text, JSON.stringify(text).slice(1, -1), sanitize(text)]);
  return Array.from(forms, (form) => ({ text: form, folded: fold(form) }));
}

/** Letters and digits alone, in one letter case. */
function fold(text: string): string {
  return text
    .normalize("NFKD")
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]/gu, "");
}

/** A text of which parts are hidden: whole words. */
class Hidden {
  readonly #text: string;
  readonly #isHidden: boolean[];
  /** Which places belong to words; half a character of two units is taken for one of a word. */
  readonly #isWordAt: boolean[];
  /** The text folded, and for each of its characters the place where it stood. */
  readonly #folded: string;
  readonly #places: number[] = [];

  constructor(text: string) {
    this.#text = text;
    this.#isHidden = Array.from({ length: text.length }, () => false);
    this.#isWordAt = text.split("").map((unit) => /[\p{L}\p{N}\uD800-\uDFFF]/u.test(unit));
    let folded = "";
    let at = 0;
    for (const character of text) {
      const part = fold(character);
      folded += part;
      for (const _ of part.split("")) this.#places.push(at);
      at += character.length;
    }
    this.#folded = folded;
  }

  hide({ text, folded }: Needle): void {
    const isShort = text.length <= shortChars;
    for (const at of occurrences(this.#text, text))
      if (!isShort || this.#isWord(at, at + text.length)) this.#hideRange(at, at + text.length);
    if (folded.length <= shortChars) return;
    for (const at of occurrences(this.#folded, folded)) {
      const [first = 0, last = 0] = [this.#places[at], this.#places[at + folded.length - 1]];
      this.#hideRange(first, last + 1);
    }
  }

  /** Those of which this is true, in the form in which they are looked up. */
  hideWords(isKnown: (word: string) => boolean): void {
    for (const { 0: word, index } of this.#text.matchAll(/[\p{L}\p{N}]+/gu))
      if (isKnown(fold(word))) this.#hideRange(index, index + word.length);
  }

  /** However they are written. */
  hideNumbers(numbers: ReadonlySet<number>): void {
    for (const { 0: token, index } of this.#text.matchAll(/-?\d[\d,_']*(?:\.\d+)?(?:e[+-]?\d+)?/gi))
      if (numbers.has(Number(token.replaceAll(/[,_']/g, "")))) this.#hideRange(index, index + token.length);
  }

  toString(): string {
    const shown = this.#text.split("").map((unit, at) => (this.#isHidden[at] ? mask : unit));
    // one mask for all that is hidden side by side
    return shown.join("").replaceAll(/…(?:[^\p{L}\p{N}]*…)+/gu, mask);
  }

  #hideRange(from: number, to: number): void {
    const isWordAt = this.#isWordAt;
    let [first, end] = [from, to];
    while (isWordAt[first - 1] && isWordAt[first]) first -= 1;
    while (isWordAt[end] && isWordAt[end - 1]) end += 1;
    this.#isHidden.fill(true, first, end);
  }

  #isWord(from: number, to: number): boolean {
    return !this.#isWordAt[from - 1] && !this.#isWordAt[to];
  }
}

function* occurrences(text: string, part: string): Generator<number> {
  for (let at = text.indexOf(part); at >= 0; at = text.indexOf(part, at + 1)) yield at;
}

/** A payload may have thousands, and each is looked through for everything that is in the payload. */
const issuesMax = 20;
const messageCharsMax = 1000;

/** What is wrong with a payload, for a log: where, and why, without anything of the payload that a schema quotes. The first twenty. */
export function issuesToLog({ payload }: Message, { details }: PgqueError): readonly PayloadIssue[] {
  const mask = new PayloadMask(payload);
  return (details.issues ?? []).slice(0, issuesMax).map(({ path, code, message }) => ({
    path: mask.path(path),
    ...(code !== undefined && { code: mask.text(code) }),
    message: mask.text(message.slice(0, messageCharsMax)),
  }));
}
