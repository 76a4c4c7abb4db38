import type { ChangesOf, Facts, Kind, Option as Declared, OptionsOf, OptionTable } from "@pgque/client/options";
import { InvalidArgumentError, Option } from "commander";
import { inEnvironment, integer, number, onOff, withLetter } from "./options.ts";
import { duration, time } from "./output/duration.ts";
import { inDurations, kebab, showValue } from "./output/flags.ts";

/** What a flag has of its own, where it is not as the declaration of its option makes it. */
export interface FlagSpec {
  /** `--limit <n>` */
  flag?: string;
  /** Of the option and its default. */
  help?: string;
  /** The default, where the command has another. */
  default?: unknown;
  /** For `other` kinds of values, which have no flag without. `before`: what was read before of an option that is repeated. */
  read?: (text: string, before?: never) => unknown;
}

/** The words that take a setting back: `none` only where there can be none. */
const resetWords = new Set(["default", "none"]);
const isReset = (text: string, option: Declared): boolean =>
  text === "default" || (text === "none" && option.default === undefined);

/**
 * The flags of a table of options: `maxLagMs` is `--max-lag <duration>`. An option that is new in the table has a flag, and a line in help.
 * Values are checked by whoever is given them.
 *
 * @param own flags that differ, by option; null: the option has none
 */
export class OptionFlags<Table extends OptionTable> {
  readonly #flags: { name: string; attribute: string; option: Declared; flag: string; spec: FlagSpec }[];

  constructor(table: Table, own: { readonly [Name in keyof Table]?: FlagSpec | null } = {}) {
    this.#flags = Object.entries<Declared>(table).flatMap(([name, option]) => {
      const spec = own[name] === undefined ? {} : own[name];
      if (spec === null || (option.check.kind === "other" && spec.read === undefined)) return [];
      const { flag = `--${kebab(name)} <${placeholder(name, option)}>` } = spec;
      return [{ name, attribute: new Option(flag).attributeName(), option, flag, spec }];
    });
  }

  /**
   * As options of a command. `changing`: defaults are not shown, and a word takes a setting back. `env`: an option may be in the
   * environment, and is checked when it is read. `group`: the heading in help.
   */
  options({ changing = false, env = false, group = "" } = {}): Option[] {
    return this.#flags.map(({ name, option, flag, spec }) => {
      const { help = helpOf(name, option, changing ? null : spec.default), read = readerOf(name, option, env) } = spec;
      const made = new Option(withLetter(flag), help);
      const { choices } = option.check;
      if (choices !== undefined && spec.read === undefined) made.choices(changing ? [...choices, "default"] : choices);
      else made.argParser((text, before) => (changing && isReset(text, option) ? text : read(text, before as never)));
      if (group !== "") made.helpGroup(group);
      return env ? inEnvironment(made) : made;
    });
  }

  /** The options that were given, as the client takes them. */
  given(flags: object): OptionsOf<Table> {
    const values = this.#flags.map(({ name, attribute }) => [name, Reflect.get(flags, attribute) as unknown] as const);
    return Object.fromEntries(values.filter(([, value]) => value !== undefined)) as OptionsOf<Table>;
  }

  /** The same of a command that changes settings; null takes one back. */
  changes(flags: object): ChangesOf<Table> {
    const given = Object.entries<unknown>(this.given(flags));
    return Object.fromEntries(
      given.map(([name, value]) => [name, resetWords.has(String(value)) ? null : value]),
    ) as ChangesOf<Table>;
  }

  /** The type that a value has in a configuration, by the name of the flag there. */
  keys(): Record<string, "string" | "number" | "boolean"> {
    const typeOf = (name: string, { kind }: Facts): "string" | "number" | "boolean" => {
      if (kind === "boolean") return kind;
      return (kind === "integer" || kind === "number") && !name.endsWith("Ms") ? "number" : "string";
    };
    return Object.fromEntries(
      this.#flags.map(({ name, attribute, option }) => [attribute, typeOf(name, option.check)]),
    );
  }

  /** Values of the options, for a person, by the names of the flags. */
  show(values: object): Record<string, string> {
    const shown = this.#flags.map(({ name, flag }) => {
      const value: unknown = Reflect.get(values, name);
      return [flag.slice(2).split(" ", 1)[0], value === null ? "-" : showValue(name, value)];
    });
    return Object.fromEntries(shown) as Record<string, string>;
  }
}

/** `preset`: instead of the declared default; null: none is shown. */
function helpOf(name: string, { help, absent, default: declared }: Declared, preset: unknown): string {
  if (preset === null) return help;
  const value = preset ?? declared;
  const shown = value === undefined ? absent : showValue(name, value);
  return shown === undefined ? help : `${help} (default: ${shown})`;
}

function placeholder(name: string, { check }: Declared): string {
  if (name.endsWith("Ms")) return "duration";
  if (/Bytes(Max)?$/.test(name)) return "bytes";
  if (name === "consumer") return "name";
  const words: Partial<Record<Kind, string>> = {
    integer: "n",
    number: "n",
    boolean: "on|off",
    time: "time",
  };
  return words[check.kind] ?? kebab(name).split("-").at(-1) ?? name;
}

/** @param isChecked whether a value has to be one that its option takes */
function readerOf(name: string, { check }: Declared, isChecked: boolean): (text: string) => unknown {
  const parse = parserOf(name, check.kind);
  return (text) => {
    const value = parse(text);
    const problem = isChecked ? check(name, value) : undefined;
    if (problem === undefined) return value;
    throw new InvalidArgumentError(
      `Expected ${inDurations(problem).replace(/^expected `\w+` (to be |to have )?/, "")}.`,
    );
  };
}

function parserOf(name: string, kind: Kind): (text: string) => unknown {
  if (name.endsWith("Ms")) return duration;
  const readers: Partial<Record<Kind, (text: string) => unknown>> = {
    integer,
    number,
    boolean: onOff,
    time,
  };
  return readers[kind] ?? ((text) => text);
}
