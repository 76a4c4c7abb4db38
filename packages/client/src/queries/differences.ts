import type { Connection } from "../connection/connection.ts";
import type { OptionDifference } from "../errors/errors.ts";
import { sqlName } from "../options/option.ts";
import { orNull } from "./values.ts";

/**
 * The options that have another value in the database. Asks only when some are given.
 *
 * @param given as they were given to the client; undefined: not given
 * @param words the same in the words of SQL
 * @param consumer null: they are those of the queue
 */
export async function optionDifferences(
  db: Connection,
  queue: string,
  consumer: string | null,
  given: object,
  words: Record<string, unknown>,
  signal?: AbortSignal,
): Promise<OptionDifference[]> {
  const asked = Object.entries(given).filter(([, value]) => value !== undefined);
  if (asked.length === 0) return [];
  const rows = await db.rows(
    (s) =>
      `select "option", found::text from ${s}.option_differences(queue => $1, options => $2::text::jsonb, consumer => $3)`,
    [queue, JSON.stringify(Object.fromEntries(asked.map(([name]) => [sqlName(name), words[sqlName(name)]]))), consumer],
    { queue, consumer, idempotent: true, signal },
  );
  const found = new Map(rows.map((row) => [String(row["option"]), orNull(row["found"], String)]));
  return asked
    .filter(([name]) => found.has(sqlName(name)))
    .map(([option, wanted]) => ({ option, wanted, found: read(option, found.get(sqlName(option)) ?? null) }));
}

/** Intervals are seconds in the database, to the microsecond. */
function read(option: string, value: string | null): OptionDifference["found"] {
  if (value === null) return null;
  const found: string | number | boolean = JSON.parse(value);
  return option.endsWith("Ms") ? Math.round(Number(found) * 1e6) / 1e3 : found;
}
