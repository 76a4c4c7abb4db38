import type { OptionDifference } from "@pgque/client";
import { showDuration } from "./duration.ts";

/** "expected `maxRetries` to be …" as "expected --max-retries to be …", and milliseconds as durations. */
export function asFlags(problem: string): string {
  return inDurations(problem).replaceAll(/`([a-z]+(?:[A-Z][a-z]+)*)`/g, (_, name: string) => flagOf(name));
}

/** "expected `maxLagMs` to be an integer from 1 to 86400000, got: 0" as "expected `maxLag` to be from 1ms to 1d, got: 0ms". */
function inDurations(problem: string): string {
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

/** What the database's functions call an option, where that is said of nothing else. */
const sqlNames =
  /\b(max_retries|max_crashes|payload_bytes_max|max_lag_action|max_lag|low_priority_every|rotation_bytes|rotation_period|rotation_min_interval|on_failure|max_in_flight|rate_limit|rate_period)\b(?: = )?/g;

/** "expected max_retries to be" as "expected --max-retries to be". */
export function sqlAsFlags(text: string): string {
  return (
    text
      .replaceAll(sqlNames, (found, name: string) => `--${name.replaceAll("_", "-")}${found === name ? "" : " "}`)
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
      .replace("Set its option allow_expiry to true", "`pgque queue set QUEUE --allow-expiry on` lets them")
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
  const words = (isMs ? name.slice(0, -2) : name).replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  return `${otherNames[name] ?? `--${words}`}${isMs ? " (in ms)" : ""}`;
}

/** What is other than was asked for, for a person: "--max-retries is 3, not 9; --max-lag is none, not 2h". */
export function showDifferences(differences: readonly OptionDifference[]): string {
  return differences
    .map(({ option, wanted, found }) => {
      const show = (value: OptionDifference["found"]): string => shown(option, value);
      return `${flagOf(option.replace(/Ms$/, ""))} is ${show(found)}, not ${show(wanted)}`;
    })
    .join("; ");
}

function shown(option: string, value: OptionDifference["found"]): string {
  if (value === null) return "none";
  if (typeof value === "boolean") return value ? "on" : "off";
  return option.endsWith("Ms") ? showDuration(Number(value)) : String(value);
}
