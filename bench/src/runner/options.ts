import { majors, type Major } from "@pgque/postgres";

/** How an option is given on the command line. */
export interface Flag {
  /** As in "--duration <seconds>"; a switch has no placeholder. */
  flag: string;
  /** What it is, and its default. */
  help: string;
  /** What its value is; absent of a switch and of a text. */
  value?: "number" | "numbers" | "names";
}

/** An option of a scenario, declared once: its flag, what is accepted, and what holds where nothing is given. */
export interface Declared<Value, Given = Value> {
  /** Absent: programs alone can give it. */
  flag?: Flag;
  /** With --quick it may be another one. */
  preset(quick: boolean): Given;
  /** Throws a BenchOptionError for a value that cannot be used. */
  check(value: Given): Value;
}

/** A flag as in "duration <seconds>", and what it is; the name alone of an option that programs alone can give. */
export type FlagText = string | [flag: string, help: string];

/** What both have in common: its name in errors, and its flag, whose help ends with the default. */
function named<Given>(
  text: FlagText,
  value: Flag["value"],
  preset: (quick: boolean) => Given,
  shown: (preset: Given) => string = String,
): { name: string; of: { flag?: Flag; preset: (quick: boolean) => Given } } {
  if (typeof text === "string") return { name: text, of: { preset } };
  const [full, quick] = [shown(preset(false)), shown(preset(true))];
  const help = `${text[1]} (default: ${full === quick ? full : `${full}; quick: ${quick}`})`.trimStart();
  const [name = ""] = text[0].split(" ");
  return { name, of: { preset, flag: { flag: `--${text[0]}`, help, ...(value && { value }) } } };
}

/** @param inQuick default: the same */
export function integerOption(
  text: FlagText,
  [min, max]: [min: number, max: number],
  preset: number,
  inQuick = preset,
): Declared<number> {
  const { name, of } = named(text, "number", (quick) => (quick ? inQuick : preset));
  return { ...of, check: (value) => integer(name, value, min, max) };
}

/** Where nothing is given it depends on other options, as the help says: null until they are known. */
export function optionalInteger([flag, help]: [flag: string, help: string]): Declared<number | null> {
  return { flag: { flag: `--${flag}`, help, value: "number" }, preset: () => null, check: (value) => value };
}

/** @param inQuick default: the same */
export function integersOption(
  text: FlagText,
  [min, max]: [min: number, max: number],
  preset: number[],
  inQuick = preset,
): Declared<number[]> {
  const { name, of } = named(text, "numbers", (quick) => (quick ? inQuick : preset), String);
  return { ...of, check: (values) => integers(name, values, min, max) };
}

/** @param preset default: all that are known */
export function namesOption(text: FlagText, known: string[], preset = known): Declared<string[]> {
  const shown = (chosen: string[]): string => (chosen === known ? "all" : String(chosen));
  const { name, of } = named(withKnown(text, known), "names", () => preset, shown);
  return { ...of, check: (chosen) => names(name, chosen, known) };
}

export function nameOption(text: FlagText, known: string[], preset: string): Declared<string> {
  const { name, of } = named(withKnown(text, known), undefined, () => preset);
  return { ...of, check: (chosen) => names(name, [chosen], known)[0] ?? preset };
}

function withKnown(text: FlagText, known: string[]): FlagText {
  if (typeof text === "string") return text;
  return [text[0], [text[1], `of ${known.join(", ")}`].filter(Boolean).join("; ")];
}

export function onOrOffOption(text: FlagText, preset: "on" | "off"): Declared<"on" | "off", string> {
  const { name, of } = named<string>(text, undefined, () => preset);
  return { ...of, check: (value) => onOrOff(name, value) };
}

export function switchOption([flag, help]: [flag: string, help: string]): Declared<boolean> {
  return { flag: { flag: `--${flag}`, help }, preset: () => false, check: (value) => value };
}

/** The same in every scenario that has it. */
export const repeatOption = (preset: number, inQuick = preset): Declared<number> =>
  integerOption(["repeat <times>", ""], [1, 100], preset, inQuick);

/** In the order of the declarations. */
export const flagsOf = (declared: Record<string, { flag?: Flag }>): Flag[] =>
  Object.values(declared).flatMap(({ flag }) => flag ?? []);

type AnyDeclared = Record<string, { preset(quick: boolean): unknown; check(value: never): unknown }>;

/** What a user may choose. */
export type OptionsOf<All extends AnyDeclared> = CommonOptions & {
  /** Small sizes and one repeat: indicative only. Default: false. */
  quick?: boolean;
} & { [Name in keyof All]?: Parameters<All[Name]["check"]>[0] };

/** What a run is measured with. */
export type SettingsOf<All extends AnyDeclared> = CommonSettings & { quick: boolean } & {
  [Name in keyof All as Name extends "durationSeconds" ? "seconds" : Name]: ReturnType<All[Name]["check"]>;
};

/** Fills in what is not given. Throws a BenchOptionError for the first option that cannot be used. */
export function settingsOf<All extends AnyDeclared>(declared: All, options: OptionsOf<All>): SettingsOf<All> {
  const quick = options.quick ?? false;
  const given = options as Record<string, unknown>;
  const resolved = Object.entries(declared).map(([name, option]) => [
    name === "durationSeconds" ? "seconds" : name,
    option.check((given[name] ?? option.preset(quick)) as never),
  ]);
  return { quick, ...Object.fromEntries(resolved), ...commonSettings(options) } as SettingsOf<All>;
}

/** An option that cannot be used, in words for the one who gave it. */
export class BenchOptionError extends Error {
  override name = "BenchOptionError";
  readonly option: string;
  constructor(option: string, expected: string, got: unknown) {
    super(`expected \`${option}\` to be ${expected}, got: ${String(got)}`);
    this.option = option;
  }
}

export function integer(option: string, value: number, min: number, max: number): number {
  if (Number.isInteger(value) && value >= min && value <= max) return value;
  throw new BenchOptionError(option, `an integer from ${min} to ${max}`, value);
}

export function integers(option: string, values: number[], min: number, max: number): number[] {
  if (values.length === 0) throw new BenchOptionError(option, `integers from ${min} to ${max}`, "nothing");
  return [...new Set(values.map((value) => integer(option, value, min, max)))];
}

export function onOrOff(option: string, value: string): "on" | "off" {
  if (value === "on" || value === "off") return value;
  throw new BenchOptionError(option, "on or off", value);
}

export function names(option: string, chosen: string[], known: string[]): string[] {
  const unknown = chosen.find((name) => !known.includes(name));
  if (unknown !== undefined || chosen.length === 0) {
    throw new BenchOptionError(option, `some of ${known.join(", ")}`, unknown ?? "nothing");
  }
  return [...new Set(chosen)];
}

/** What a user of every scenario may choose: where it runs, and where its results go. */
export interface CommonOptions {
  /** Where results go. Default: `results/<time>-<scenario>` below the current folder. */
  resultsFolder?: string;
  /** A server to use. Default: start an embedded one. */
  databaseUrl?: string;
  /** Of the embedded servers: everything is run on each in turn. Default: 17. */
  postgresMajors?: number[];
}

export interface CommonSettings {
  /** Null: the default. */
  resultsFolder: string | null;
  /** Null: embedded ones. */
  databaseUrl: string | null;
  postgresMajors: Major[];
}

/**
 * Each major once. A server that is given is of one major, and not ours to choose.
 *
 * Throws a BenchOptionError for the first option that cannot be used.
 */
export function commonSettings({ resultsFolder, databaseUrl, postgresMajors = [17] }: CommonOptions): CommonSettings {
  const asked = [...new Set(postgresMajors)];
  const refuse = (expected: string, got: unknown) => new BenchOptionError("postgres", expected, got);
  if (asked.length > 1 && databaseUrl !== undefined)
    throw refuse(
      "one major at most where a database to use is given (--database-url, DATABASE_URL or PG* variables)",
      asked.join(", "),
    );
  if (asked.length === 0) throw refuse(`some of ${majors.join(", ")}`, "nothing");
  const unknown = asked.find((value) => !majors.some((one) => one === value));
  if (unknown !== undefined) throw refuse(`one of ${majors.join(", ")}`, unknown);
  return { resultsFolder: resultsFolder ?? null, databaseUrl: databaseUrl ?? null, postgresMajors: asked as Major[] };
}
