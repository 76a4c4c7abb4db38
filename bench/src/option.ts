import { majors, type Major } from "@pgque/postgres";

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

export function major(value: number): Major {
  const known = majors.find((one) => one === value);
  if (known === undefined) throw new BenchOptionError("postgres", `one of ${majors.join(", ")}`, value);
  return known;
}

export function names(option: string, chosen: string[], known: string[]): string[] {
  const unknown = chosen.find((name) => !known.includes(name));
  if (unknown !== undefined || chosen.length === 0) {
    throw new BenchOptionError(option, `some of ${known.join(", ")}`, unknown ?? "nothing");
  }
  return [...new Set(chosen)];
}
