import { clientCommand, type Flags, type MakeCommand } from "../command.ts";
import { printChange } from "../output/print.ts";
import { described } from "../output/text.ts";

/** Description and examples of both. */
type Help = Record<"pause" | "resume", [description: string, examples: string]>;

/** Whatever the number of names. */
type Pausable = Record<"pause" | "resume", (...names: string[]) => Promise<boolean>>;

/**
 * The commands `pause` and `resume` of queues, consumers or schedules.
 *
 * @param usage the arguments that name one, in the order in which the client takes them
 */
export function pauseAndResume(
  of: "queues" | "consumers" | "schedules",
  usage: string,
  { pause, resume }: Help,
): MakeCommand[] {
  const make = (verb: keyof Pausable, [description, help]: Help["pause"], done: string, otherwise: string) =>
    clientCommand(`${verb} ${usage}`, "admin", {
      description,
      help: `\nExamples:\n${help}`,
      async run(pgque, ...args: unknown[]) {
        const [names, flags] = [args.slice(0, -1) as string[], args.at(-1) as Flags];
        const changed = await (pgque[of] as unknown as Pausable)[verb](...names);
        const named = Object.fromEntries((usage.match(/\w+/g) ?? []).map((kind, i) => [kind, names[i]]));
        await printChange(flags, named, changed, `${done} ${described(named)}.`, otherwise);
      },
    });
  return [
    make("pause", pause, "Paused", "It is paused already."),
    make("resume", resume, "Resumed", "It is not paused."),
  ];
}
