import { PgqueError } from "../errors/errors.ts";
import { check, expecting, object, type Check } from "./checks.ts";

/** The declaration of an option. Its type, its check, its flag of the command line and its row in the docs are derived from it. */
export interface Option<Value = unknown> {
  readonly check: Check<Value>;
  /** One line for `--help` and the tables of the docs: no range, no default. */
  readonly help: string;
  /** The value when none is given. */
  readonly default?: Value;
  /** Where there is no such value: in words, "no limit". */
  readonly absent?: string;
  /** The header in which it travels with a message, and is given in SQL. */
  readonly header?: string;
  /** The default of a queue or consumer that is created in SQL, if it is another; in words or a value. */
  readonly defaultInSql?: Value | string;
}

/** Options by name. A duration ends in `Ms`, a size in `Bytes` or `BytesMax`. */
export type OptionTable = Readonly<Record<string, Option>>;

type ValueOf<Declared> = Declared extends { readonly check: { readonly "~value"?: infer Value } }
  ? Exclude<Value, undefined>
  : never;

/** The type of an object with options of a table. The docstrings are those of the table. */
export type OptionsOf<Table> = { -readonly [Name in keyof Table]?: ValueOf<Table[Name]> | undefined };

/** The same where null takes an option back. */
export type ChangesOf<Table> = { -readonly [Name in keyof Table]?: ValueOf<Table[Name]> | null | undefined };

/** The type of those options of a table that have a default. */
export type DefaultsOf<Table> = {
  [Name in keyof Table as Table[Name] extends { readonly default: unknown } ? Name : never]: ValueOf<Table[Name]>;
};

/** The options of a table that have a default, with it. */
export function defaultsOf<Table extends OptionTable>(table: Table): DefaultsOf<Table> {
  const given = Object.entries(table).filter(([, option]) => option.default !== undefined);
  return Object.fromEntries(given.map(([name, option]) => [name, option.default])) as never;
}

/** The options that were given, and the defaults of the others. */
export function completed<Table extends OptionTable, Given extends OptionsOf<Table>>(
  given: Given,
  table: Table,
): Given & DefaultsOf<Table> {
  const named = Object.entries(given).filter(([, value]) => value !== undefined);
  return { ...defaultsOf(table), ...Object.fromEntries(named) } as never;
}

/** What every call can be given. */
export const callOptions = {
  /**
   * Gives the call up: it then rejects with the signal's reason. One that has not begun is not sent; one under way is cancelled in the
   * database, unless it runs in the caller's transaction, which that would break. A call that was done nevertheless returns its result. A database
   * that does not answer within a second leaves it unknown: CONNECTION_LOST, whose `cause` is the signal's reason.
   */
  signal: {
    check: expecting<AbortSignal>("an AbortSignal", (value) => value instanceof AbortSignal),
    help: "gives the call up when it is aborted",
    absent: "none",
  },
} satisfies OptionTable;

/** Options of every call that asks the database: `signal` ends the wait for its answer. */
export interface CallOptions extends OptionsOf<typeof callOptions> {}

/** Options that are declared, or mere checks by name. */
type Checked = Readonly<Record<string, Pick<Option, "check"> | Check>>;

/** Everything wrong with an object of options, unknown names included. An option that is undefined is one that is not given. */
export function problemsOf(options: unknown, table: Checked): string[] {
  const problem = object("options", options);
  if (problem !== undefined) return [problem];
  const problems: string[] = [];
  for (const [name, value] of Object.entries(Object(options))) {
    if (value === undefined) continue;
    const known = Object.hasOwn(table, name) ? table[name] : undefined;
    const found = known
      ? checkOf(known)(name, value)
      : `unknown option \`${name}\`, known: ${Object.keys(table).join(", ")}`;
    if (found !== undefined) problems.push(found);
  }
  return problems;
}

/** The same of a call, which can be given a signal as well. */
export function callProblems(options: unknown, table: Checked = {}): string[] {
  return problemsOf(options, { ...table, ...callOptions });
}

/** The same checks, and null passes. */
export function nullable(table: Checked): Checked {
  const entries = Object.entries(table).map(([name, known]): [string, Check] => [
    name,
    check((given, value) => (value === null ? undefined : checkOf(known)(given, value))),
  ]);
  return Object.fromEntries(entries);
}

function checkOf(known: Pick<Option, "check"> | Check): Check {
  return typeof known === "function" ? known : known.check;
}

/** Throws all problems at once, if there are any. `where` names the call that was given them. */
export function refuse(where: string, problems: readonly (string | undefined)[]): void {
  const found = problems.filter((problem) => problem !== undefined);
  if (found.length === 0) return;
  throw new PgqueError("INVALID_OPTION", `${where}: ${found.join("; ")}`, { details: { problems: found } });
}

/** Changes in which null is the default of its option, and null where that has none. */
export function withResets<Changes extends object>(changes: Changes, table: OptionTable): Changes {
  const entries = Object.entries(changes).map(([name, value]: [string, unknown]) => [
    name,
    value === null ? (table[name]?.default ?? null) : value,
  ]);
  return Object.fromEntries(entries) as Changes;
}

/** An option as SQL calls it: `retentionMs` is `retention` there. */
export function sqlName(option: string): string {
  return option.replace(/Ms$/, "").replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** The options of a table as SQL takes them: durations as intervals; null stays null, and what is not given is not there. */
export function inSql(options: object, table: OptionTable): Record<string, unknown> {
  const given = Object.entries(options).filter(([name, value]) => value !== undefined && Object.hasOwn(table, name));
  return Object.fromEntries(
    given.map(([name, value]: [string, unknown]) => [
      sqlName(name),
      name.endsWith("Ms") && typeof value === "number" ? `${value} milliseconds` : value,
    ]),
  );
}
