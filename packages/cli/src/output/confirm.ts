import { sanitizeLines } from "@pgque/client/redact";
import { UsageError } from "./failure.ts";

/** `--yes`: somebody has thought about it already. */
export interface ConfirmFlags {
  yes?: true;
}

/**
 * Asks whether to do what cannot be taken back; returns when the answer is yes.
 *
 * @param describe what it does, as a sentence: "This drops …". Not called with `--yes`
 * @throws UsageError without a terminal to ask at and without `--yes`; Error when the answer is no
 */
export async function confirm(describe: () => Promise<string>, flags: ConfirmFlags): Promise<void> {
  if (flags.yes) return;
  const what = await describe();
  requireTerminal(what);
  const prompts = await import("@clack/prompts");
  const answer = await prompts.confirm({
    message: sanitizeLines(`${what}\nGo on?`),
    initialValue: false,
    output: process.stderr,
  });
  if (answer !== true) throw new Error("Not confirmed: nothing was done");
}

/** The same, for more than a slip of the finger may do: the name of what goes has to be typed. */
export async function confirmByName(what: string, name: string, flags: ConfirmFlags): Promise<void> {
  if (flags.yes) return;
  requireTerminal(what);
  const prompts = await import("@clack/prompts");
  const answer = await prompts.text({
    message: sanitizeLines(`${what}\nThere is no way back. Type ${name} to go on:`),
    output: process.stderr,
  });
  if (answer !== name)
    throw new Error(`expected ${JSON.stringify(name)} to be typed, got something else: nothing was done`);
}

function requireTerminal(what: string): void {
  // the question is on standard error, so that what is on standard output can go into a file
  if (process.stdin.isTTY && process.stderr.isTTY) return;
  throw new UsageError(`${what} Expected a terminal to confirm this at, found none. Add --yes if you mean it`);
}
