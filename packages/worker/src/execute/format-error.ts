import { inspect } from "node:util";

/** A reason is read by people and kept with the dead letter; a whole response body in it helps nobody. */
const messageCharsMax = 2000;
const stackCharsMax = 4000;

/** What was thrown, in words: an error's message, and below it where it was thrown. Never throws, whatever it is given. */
export function formatError(error: unknown): string {
  try {
    return told(error);
  } catch {
    return "the handler failed with something that cannot be shown";
  }
}

function told(error: unknown): string {
  if (typeof error === "string") return shortened(error, messageCharsMax);
  if (!(error instanceof Error)) return shortened(inspect(error), messageCharsMax);
  const message = shortened(textOf(error.message) || textOf(error.name), messageCharsMax);
  const stack: unknown = error.stack;
  const frames = typeof stack === "string" ? stack.split("\n").filter((line) => /^\s+at /.test(line)) : [];
  return frames.length === 0 ? message : `${message}\n${shortened(frames.join("\n"), stackCharsMax)}`;
}

const textOf = (value: unknown): string => (typeof value === "string" ? value : inspect(value));

function shortened(text: string, charsMax: number): string {
  return text.length > charsMax ? `${text.slice(0, charsMax - 1)}…` : text;
}
