import type { Figure } from "./figure.ts";
import { finish } from "./finish.ts";
import { send } from "./send.ts";

/** In the order of the report. */
export const figures: Figure[] = [send, finish];

export const figureNames = figures.map(({ name }) => name);

export function figureNamed(name: string): Figure {
  const found = figures.find((figure) => figure.name === name);
  if (found === undefined) throw new Error(`there is no figure ${name}`);
  return found;
}
