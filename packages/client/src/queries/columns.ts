import type { Call, Connection, Row } from "../connection/connection.ts";
import { date, epochMs, headersOf, jsonOrText } from "./values.ts";

/** A column of a result: the expression for it, which is a text, and what reads it. */
export interface Column<Value> {
  sql: string;
  read: (value: unknown) => Value;
}

type Columns = Readonly<Record<string, Column<unknown>>>;

type ReadRow<Of extends Columns> = { [Name in keyof Of]: Of[Name] extends Column<infer Value> ? Value : never };

const column =
  <Value>(read: (value: unknown) => Value) =>
  (expression: string): Column<Value> => ({ sql: `(${expression})::text`, read });

export const number = column(Number);
export const flag = column((value) => value === "true");
export const headers = column(headersOf);
export const payload = column(jsonOrText);

export function text<Word extends string = string>(expression: string): Column<Word> {
  return column((value) => String(value) as Word)(expression);
}

/** Rounded down to a millisecond. */
export function time(expression: string): Column<Date> {
  return { sql: epochMs(expression), read: date };
}

/** An interval in milliseconds, rounded down. */
export function ms(expression: string): Column<number> {
  return { sql: epochMs(expression), read: Number };
}

/** SQL's null stays null. */
export function orNull<Value>({ sql, read }: Column<Value>): Column<Value | null> {
  return { sql, read: (value) => (value === null ? null : read(value)) };
}

/** The columns as a list for SELECT. */
export function listed(columns: Columns): string {
  return Object.entries(columns)
    .map(([name, { sql }]) => `${sql} as "${name}"`)
    .join(", ");
}

/** A row whose first columns are these, whatever a driver makes of their names. */
export function readRow<Of extends Columns>(columns: Of, row: Row): ReadRow<Of> {
  const values = Object.values(row);
  return Object.fromEntries(
    Object.entries(columns).map(([name, { read }], i) => [name, read(values[i])]),
  ) as ReadRow<Of>;
}

/** The rows of a query that changes nothing. `from`: what follows FROM. */
export async function select<Of extends Columns>(
  db: Connection,
  columns: Of,
  from: (schema: string) => string,
  values: unknown[],
  call: Call,
): Promise<ReadRow<Of>[]> {
  const rows = await db.rows((s) => `select ${listed(columns)} from ${from(s)}`, values, {
    ...call,
    idempotent: true,
  });
  return rows.map((row) => readRow(columns, row));
}
