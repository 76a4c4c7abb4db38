import type { OptionDifference } from "@pgque/client";
import { consumerOptions, queueOptions, sqlName } from "@pgque/client/options";
import { showDuration } from "./duration.ts";

/** "expected `maxRetries` to be …" as "expected --max-retries to be …", and milliseconds as durations. */
export function asFlags(problem: string): string {
  return inDurations(problem).replaceAll(/`([a-z]+(?:[A-Z][a-z]+)*)`/g, (_, name: string) => flagOf(name));
}

/** "expected `maxLagMs` to be an integer from 1 to 86400000, got: 0" as "expected `maxLag` to be from 1ms to 1d, got: 0ms". */
export function inDurations(problem: string): string {
  return problem.replace(
    /`(\w+)Ms` to be (?:an integer|a number) from (\d+) to (\d+), got: (\d+)$/,
    (_, name: string, ...ms: string[]) => {
      const [least, most, got] = ms.slice(0, 3).map((of) => showDuration(Number(of)));
      return `\`${name}\` to be from ${least} to ${most}, got: ${got}`;
    },
  );
}

/** Payloads are text to the database, whatever they say; what it keeps as jsonb is not. */
const unstorable =
  "expected headers that the database can store, found in one \\u0000 or half a surrogate pair. Leave it out, or send it in the payload";

/** Options by the names of the database's functions, where these are no ordinary words. */
const sqlNames = [...Object.keys(queueOptions), ...Object.keys(consumerOptions)]
  .map(sqlName)
  .filter((name) => name.includes("_"));
const inSql = new RegExp(`\\b(${sqlNames.join("|")})\\b(?: = )?`, "g");

/** "expected max_retries to be" as "expected --max-retries to be". */
export function sqlAsFlags(text: string): string {
  return (
    text
      .replace("Set its option allow_expiry to true", "`pgque queue set QUEUE --allow-expiry on` lets them")
      .replaceAll(inSql, (found, name: string) => `--${name.replaceAll("_", "-")}${found === name ? "" : " "}`)
      // all of them, in the words of SQL: help has those of the command
      .replace(/\.? Known options: [^.]*$/, "")
      .replace(
        /\b(with|without|expected|or|and) (partitions|priorities)\b(?: = )?/g,
        (found, before: string, name: string) => `${before} --${name}${found.endsWith("= ") ? " " : ""}`,
      )
      .replace(/^expected (after|priority) /, "expected --$1 ")
      .replace(/^expected run_at /, "expected --at ")
      .replace(/^expected cron /, "expected the cron expression ")
      .replace(/^(unsupported Unicode escape sequence|invalid input syntax for type json).*/s, unstorable)
      .replace(
        "`pgque.schedules.list()` has those that the role may see",
        "`pgque schedule list` shows those that are there",
      )
      .replace("or force the drop:", "or drop it with --force:")
  );
}

/** Where an option is called otherwise here than in the client. */
const otherNames: Record<string, string> = {
  name: "the name",
  consumer: "the consumer's name",
  cron: "the cron expression",
  max: "--limit",
  ttlMs: "--expires",
  expiresAt: "--expires",
  headers: "--header",
  reasonLike: "--reason",
};

/** "maxLag" as "--max-lag". */
export function flagOf(name: string): string {
  const isMs = name.endsWith("Ms");
  return `${otherNames[name] ?? `--${kebab(name)}`}${isMs ? " (in ms)" : ""}`;
}

/** What is other than was asked for, for a person: "--max-retries is 3, not 9; --max-lag is none, not 2h". */
export function showDifferences(differences: readonly OptionDifference[]): string {
  return differences
    .map(({ option, wanted, found }) => {
      return `${flagOf(option.replace(/Ms$/, ""))} is ${showValue(option, found)}, not ${showValue(option, wanted)}`;
    })
    .join("; ");
}

/** A value of an option, for a person. */
export function showValue(name: string, value: unknown): string {
  if (value === null) return "none";
  if (typeof value === "boolean") return value ? "on" : "off";
  if (name.endsWith("Ms") && Number.isFinite(value)) return showDuration(Number(value));
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** "maxLagMs" as "max-lag". */
export function kebab(name: string): string {
  return name.replace(/Ms$/, "").replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}
