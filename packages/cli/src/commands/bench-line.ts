import path from "node:path";
import type { Command } from "commander";

/** What does not change what is measured, or may hold a secret. */
const left = new Set(["databaseUrl", "results", "baseline", "json"]);

/** Options whose value is a file: which one says its name, where it is on this machine says nothing. */
const files = new Set(["pgmqSql", "pgqSql", "pgqUniversalSql"]);

/** The command with its options as they were given, for whoever wants to run it again: without connections and places. */
export function benchLine(command: Command): string {
  const names: string[] = [];
  for (let each: Command | null = command; each !== null; each = each.parent) names.unshift(each.name());
  const options = command.options.flatMap((option) => {
    const name = option.attributeName();
    if (command.getOptionValueSource(name) !== "cli" || left.has(name)) return [];
    const value: unknown = command.getOptionValue(name);
    return value === true
      ? [option.long]
      : [option.long, files.has(name) ? path.basename(String(value)) : String(value)];
  });
  return ["npx", ...names, ...options].join(" ");
}
