import type { Pgque } from "@pgque/client";
import { sanitize } from "@pgque/client/redact";

/** What an action is about, by name: what the confirmation shows, the token covers, and the audit log keeps. */
export type Fields = Readonly<Record<string, string>>;

/** What a confirmation says. */
export interface Question {
  /** What will happen, as a sentence: "This pauses …". */
  what: string;
  /** What is fixed now, so that what is confirmed is what is done: a time. */
  fixed?: Fields;
}

/** What was done. */
export interface Outcome {
  text: string;
  /** There is more to do than one request may take: the same action goes on. */
  isPartial?: boolean;
}

/** One thing that an operator can do. */
export interface Action {
  /** On the button: "Pause". */
  title: string;
  /** The names of its fields; those of a name that ends in `?` may be absent. */
  fields: readonly string[];
  /** The value of this field has to be typed, as there is no way back. */
  typed?: string;
  /** A field that is chosen first, if it is absent: one of these, or a time in UTC. */
  choice?: { field: string; text: string; values: Readonly<Record<string, string>> };
  /** Described by the connection that looks. */
  ask(pgque: Pgque, fields: Fields): Promise<Question>;
  /**
   * Done by the operator's connection.
   *
   * @param budgetMs what takes longer stops after the step under way, and says that there is more
   */
  run(operator: Pgque, fields: Fields, budgetMs: number): Promise<Outcome>;
}

/** A request that is not for what the dashboard can do. Its message says what was expected. */
export class WrongRequest extends Error {
  override readonly name = "WrongRequest";
}

/** Browsers change line ends in the fields of forms, and names may have any: in JSON they come back as they are. */
export function packed(fields: Fields): string {
  return sanitize(JSON.stringify(fields));
}

/** @throws WrongRequest */
export function unpacked(text: string): Map<string, unknown> {
  try {
    return new Map(Object.entries(Object(JSON.parse(text)) as object));
  } catch {
    throw new WrongRequest("expected the fields of a form, found another text");
  }
}

/** A field that the action needs. */
export function field(fields: Fields, name: string): string {
  const value = fields[name];
  if (value === undefined) throw new WrongRequest(`expected the field ${name}, found none`);
  return value;
}

/** What somebody has named, in a sentence. */
export function quoted(name: string): string {
  return sanitize(JSON.stringify(name));
}

/** "1 message", "1,200 messages". */
export function counted(count: number, what: string): string {
  return `${count.toLocaleString("en")} ${what}${count === 1 ? "" : "s"}`;
}

const timeoutMs = 10_000;

/** What takes longer than that is given up: it would hold the horizon. */
export function limited(): { signal: AbortSignal } {
  return { signal: AbortSignal.timeout(timeoutMs) };
}
