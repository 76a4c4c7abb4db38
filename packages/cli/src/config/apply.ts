import { type Command, InvalidArgumentError, type Option } from "commander";
import { databaseVariables } from "../connection.ts";
import { UsageError } from "../output/failure.ts";
import type { PgqueConfig } from "./config.ts";

/** What every command takes from the file. The other keys are the worker's: a consumer that is set for it must not be the one that is purged. */
const everyCommands = new Set(["databaseUrl", "schema"]);

/**
 * Gives a command the options of the configuration that are meant for it and that neither its arguments nor the environment set. Commands without
 * `--schema` use no queues, and read no configuration.
 *
 * @throws UsageError when a value is not what the option takes
 */
export async function applyConfig(command: Command, file: string | undefined): Promise<void> {
  if (!command.options.some((option) => option.attributeName() === "schema")) return;
  const { loadConfig } = await import("./load.ts");
  const loaded = await loadConfig(file);
  if (loaded === undefined) return;
  for (const [key, value] of Object.entries(loaded.config)) {
    if (command.name() !== "worker" && !everyCommands.has(key)) continue;
    const option = command.options.find((one) => one.attributeName() === key);
    // an argument is no option: the command looks for it among them nevertheless
    if (command.registeredArguments.some((one) => one.name() === key))
      command.setOptionValueWithSource(key, value, "config");
    if (option === undefined || value === undefined || isSet(command, key)) continue;
    command.setOptionValueWithSource(key, read(loaded.file, option, key as keyof PgqueConfig, value), "config");
  }
}

function isSet(command: Command, key: string): boolean {
  // one that is set counts for more than the file
  if (key === "databaseUrl" && databaseVariables.some((name) => process.env[name])) return true;
  const source = command.getOptionValueSource(key);
  return source !== undefined && source !== "default";
}

/** As if it had been given on the command line. */
function read(file: string, option: Option, key: keyof PgqueConfig, value: unknown): unknown {
  try {
    const values = Array.isArray(value) ? value : [value];
    let result: unknown;
    for (const one of values) result = option.parseArg ? option.parseArg(textOf(one), result as never) : one;
    return result;
  } catch (error) {
    if (!(error instanceof InvalidArgumentError || error instanceof UsageError)) throw error;
    throw new UsageError(`${file}: \`${key}\`: ${error.message}`, { cause: error });
  }
}

function textOf(value: unknown): string {
  if (typeof value === "boolean") return value ? "on" : "off";
  return String(value);
}
