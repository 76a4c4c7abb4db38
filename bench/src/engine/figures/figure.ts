import type { Target } from "../../scenario/target.ts";
import type { Server } from "../../server.ts";

/** One number of a figure; null in the results where it could not be measured. */
export interface Value {
  label: string;
  format: (value: number) => string;
  target?: Target;
}

export interface FigureContext {
  server: Server;
  /** The run's. */
  synchronousCommit: "on" | "off";
  quick: boolean;
  signal: AbortSignal;
  /** Says what is under way. */
  note: (text: string) => void;
}

/** One thing to know about the engine. */
export interface Figure<Key extends string = string, Size extends string = string> {
  name: string;
  /** What is measured, in one sentence. */
  statement: string;
  /** One line for every choice that the numbers depend on. */
  method: string[];
  sizes: Record<"full" | "quick", Record<Size, number>>;
  /** In the order of the tables. */
  values: Record<Key, Value>;
  /** In databases of its own, which it drops. */
  measure(context: FigureContext, sizes: Record<Size, number>): Promise<Record<Key, number | null>>;
}

/** Keeps the names of values and sizes as types, so that what is measured is what was declared. */
export function defineFigure<Key extends string, Size extends string>(figure: Figure<Key, Size>): Figure<Key, Size> {
  return figure;
}
