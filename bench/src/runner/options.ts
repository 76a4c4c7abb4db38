import { majors, type Major } from "@pgque/postgres";

/** An option of a scenario, declared once: what is accepted, and what holds where nothing is given. */
export interface Declared<Value, Given = Value> {
  /** With --quick it may be another one. */
  preset(quick: boolean): Given;
  /** Throws a BenchOptionError for a value that cannot be used. */
  check(value: Given): Value;
}

/** @param inQuick default: the same */
export function integerOption(
  flag: string,
  [min, max]: [min: number, max: number],
  preset: number,
  inQuick = preset,
): Declared<number> {
  return { preset: (quick) => (quick ? inQuick : preset), check: (value) => integer(flag, value, min, max) };
}

export function integersOption(
  flag: string,
  [min, max]: [min: number, max: number],
  preset: number[],
): Declared<number[]> {
  return { preset: () => preset, check: (values) => integers(flag, values, min, max) };
}

/** @param preset default: all that are known */
export function namesOption(flag: string, known: string[], preset = known): Declared<string[]> {
  return { preset: () => preset, check: (chosen) => names(flag, chosen, known) };
}

export function nameOption(flag: string, known: string[], preset: string): Declared<string> {
  return { preset: () => preset, check: (chosen) => names(flag, [chosen], known)[0] ?? preset };
}

export function onOrOffOption(flag: string, preset: "on" | "off"): Declared<"on" | "off", string> {
  return { preset: () => preset, check: (value) => onOrOff(flag, value) };
}

export function switchOption(): Declared<boolean> {
  return { preset: () => false, check: (value) => value };
}

/** Where nothing is given it depends on other options: null until they are known. */
export function withoutPreset<Value, Given>(option: Declared<Value, Given>): Declared<Value | null, Given | null> {
  return { preset: () => null, check: (value) => (value === null ? null : option.check(value)) };
}

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
