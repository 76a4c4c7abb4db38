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

export function integers(option: string, values: number[], min: number, max: number): number[] {
  if (values.length === 0) throw new BenchOptionError(option, `integers from ${min} to ${max}`, "nothing");
  return [...new Set(values.map((value) => integer(option, value, min, max)))];
}

/** The majors of the embedded servers, each once. A server that is given is of one major, and not ours to choose. */
export function majorsOf({
  postgresMajors = [17],
  databaseUrl,
}: {
  postgresMajors?: number[];
  databaseUrl?: string;
}): Major[] {
  if (postgresMajors.length > 1 && databaseUrl !== undefined) {
    const expected =
      "one major at most where a database to use is given (--database-url, DATABASE_URL or PG* variables)";
    throw new BenchOptionError("postgres", expected, postgresMajors.join(", "));
  }
  if (postgresMajors.length === 0) throw new BenchOptionError("postgres", `some of ${majors.join(", ")}`, "nothing");
  return [...new Set(postgresMajors.map(major))];
}

function major(value: number): Major {
  const known = majors.find((one) => one === value);
  if (known === undefined) throw new BenchOptionError("postgres", `one of ${majors.join(", ")}`, value);
  return known;
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
