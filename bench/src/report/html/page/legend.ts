import type { ChartCell } from "../chart-data.ts";
import { swatch } from "./swatch.ts";

/** The systems of one chart: a button for each, which hides and shows its lines. */
export class Legend {
  readonly element = document.createElement("ul");
  readonly #cells: ChartCell[];
  readonly #hidden = new Set<string>();

  /** `show` is told of every cell whose line comes or goes. */
  constructor(cells: ChartCell[], systems: string[], show: (cell: number, shown: boolean) => void) {
    this.#cells = cells;
    this.element.className = "legend";
    for (const [color, system] of systems.entries()) {
      if (cells.some((cell) => cell.system === system)) this.element.append(this.#entry(system, color, show));
    }
  }

  shows(cell: number): boolean {
    return !this.#hidden.has(this.#cells[cell]?.system ?? "");
  }

  #entry(system: string, color: number, show: (cell: number, shown: boolean) => void): HTMLElement {
    const own = this.#cells.flatMap((cell, index) => (cell.system === system ? [{ ...cell, index }] : []));
    const button = document.createElement("button");
    button.type = "button";
    button.append(swatch(color), system + invalidText(own));
    button.setAttribute("aria-pressed", "true");
    button.addEventListener("click", () => {
      const shown = this.#hidden.delete(system);
      if (!shown) this.#hidden.add(system);
      button.setAttribute("aria-pressed", String(shown));
      for (const { index } of own) show(index, shown);
    });
    const entry = document.createElement("li");
    entry.append(button);
    return entry;
  }
}

function invalidText(cells: ChartCell[]): string {
  const repeats = cells.filter(({ invalid }) => invalid).map(({ repeat }) => repeat);
  if (repeats.length === 0) return "";
  return repeats.length === cells.length ? " (invalid)" : ` (repeat ${repeats.join(", ")} invalid)`;
}
