import type { Command } from "commander";
import type { DatabaseFlags } from "../connection.ts";
import { withPgque } from "../database.ts";
import { type JsonFlags, printChange } from "../output/print.ts";
import { described } from "../output/text.ts";

/** Description and examples of both. */
type Help = Record<"pause" | "resume", [description: string, examples: string]>;

/** Whatever the number of names. */
type Pausable = Record<"pause" | "resume", (...names: string[]) => Promise<boolean>>;

/**
 * The commands `pause` and `resume` of queues, consumers or schedules.
 *
 * @param make a command with the arguments that name one, in the order in which the client takes them
 */
export function pauseAndResume(
  of: "queues" | "consumers" | "schedules",
  make: (name: string) => Command,
  help: Help,
): Command[] {
  return (["pause", "resume"] as const).map((verb) => {
    const command = make(verb);
    const [description, examples] = help[verb];
    return command
      .description(description)
      .addHelpText("after", `\nExamples:\n${examples}`)
      .action(async () => {
        const flags = command.opts<DatabaseFlags & JsonFlags>();
        const names = Object.fromEntries(command.registeredArguments.map((each, i) => [each.name(), command.args[i]]));
        const [done, otherwise] =
          verb === "pause" ? ["Paused", "It is paused already."] : ["Resumed", "It is not paused."];
        const changed = await withPgque(flags, "admin", (pgque) =>
          (pgque[of] as unknown as Pausable)[verb](...command.args),
        );
        await printChange(flags, names, changed, `${done} ${described(names)}.`, otherwise);
      });
  });
}
