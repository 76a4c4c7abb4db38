import type { Pgque } from "@pgque/client";
import { Command, type Option } from "commander";
import { flag } from "./options.ts";
import { configOption, type DatabaseFlags, databaseUrlOption, schemaOption } from "./connection.ts";
import { type NeededRole, withPgque } from "./database.ts";
import type { ConfirmFlags } from "./output/confirm.ts";
import type { JsonFlags } from "./output/print.ts";

/** The flags that many commands have. */
export interface Flags extends DatabaseFlags, JsonFlags, ConfirmFlags {}

/** A command, made anew for each program. */
export type MakeCommand = () => Command;

interface CommandSpec {
  description: string;
  /** What help says below the options. */
  help: string;
  alias?: string;
  /** Arguments that their names do not explain. */
  arguments?: readonly Parameters<Command["argument"]>[];
  /** Its own. */
  options?: readonly Option[];
  /** What help says of `--json`; false: it has none. */
  json?: string | false;
  /** It has `--yes`: it asks before it destroys something. */
  yes?: boolean;
  /** It has the options that name the database and the schema. Default: true. */
  database?: boolean;
}

const jsonHelp = "print JSON for programs: ids are strings, times ISO 8601";

/** @param usage the name and the arguments: `show <queue>` */
export function command(usage: string, spec: CommandSpec & { run: (...args: never[]) => Promise<void> }): MakeCommand {
  const { description, help, alias, options = [], json = jsonHelp, yes, database = true, run } = spec;
  const [name = "", ...args] = usage.split(" ");
  const described = spec.arguments ?? [];
  return () => {
    const made = new Command(name).description(description).addHelpText("after", help);
    for (const arg of args) made.argument(arg);
    for (const arg of described) made.argument(...arg);
    for (const option of options) made.addOption(option);
    if (alias !== undefined) made.alias(alias);
    if (json !== false) made.addOption(flag("--json", json));
    if (yes) made.option("--yes", "do not ask");
    if (database) for (const option of [databaseUrlOption, schemaOption, configOption]) made.addOption(option);
    // commander adds the command itself to the arguments and the flags
    return made.action((...given: unknown[]) => run(...(given.slice(0, -1) as never[])));
  };
}

/** A command that works with a client, which is closed afterwards. */
export function clientCommand(
  usage: string,
  needs: NeededRole,
  spec: CommandSpec & { run: (pgque: Pgque, ...args: never[]) => Promise<void> },
): MakeCommand {
  return command(usage, {
    ...spec,
    run: (...args) => withPgque(args.at(-1) as unknown as Flags, needs, (pgque) => spec.run(pgque, ...args)),
  });
}

/** A command that consists of others. */
export function commandGroup(
  name: string,
  description: string,
  help: string,
  commands: readonly MakeCommand[],
): MakeCommand {
  return () => {
    const made = new Command(name).description(description);
    for (const make of commands) made.addCommand(make());
    return made.addHelpText("after", `${help}\n\npgque ${name} COMMAND --help has more for each.`);
  };
}
