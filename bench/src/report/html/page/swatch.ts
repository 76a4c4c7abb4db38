import { seriesPaint } from "./paint.ts";

/** A system's colour. */
export function swatch(system: number): HTMLElement {
  const element = document.createElement("span");
  element.className = "swatch";
  element.style.background = `var(${seriesPaint(system)})`;
  return element;
}
