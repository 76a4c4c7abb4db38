import { integer, integers, names, onOrOff } from "../option.ts";
import { commonSettings, type CommonOptions, type CommonSettings } from "./common-settings.ts";

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
