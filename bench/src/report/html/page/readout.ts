import { lineOf, type ChartCell, type Measure } from "../chart-data.ts";
import { measured, time } from "./format.ts";
import { swatch } from "./swatch.ts";

/** What the lines are under the cursor: a box below the chart, over what is there, so that nothing moves when it comes and goes. */
export class Readout {
  readonly element = document.createElement("div");
  readonly #cells: ChartCell[];
  readonly #systems: string[];
  readonly #measure: Measure;

  constructor(cells: ChartCell[], systems: string[], measure: Measure) {
    this.#cells = cells;
    this.#systems = systems;
    this.#measure = measure;
    this.element.className = "readout";
    this.element.hidden = true;
    // The tables have the figures for those who do not see the cursor.
    this.element.ariaHidden = "true";
  }

  hide(): void {
    this.element.hidden = true;
  }

  /** At so many seconds; systems that are hidden are left out. */
  show(seconds: number, shows: (cell: number) => boolean): void {
    const rows = [...this.#systems.entries()].flatMap(([color, system]) => {
      const own = this.#cells.filter((cell, index) => cell.system === system && shows(index));
      return own.length === 0 ? [] : [this.#row(system, color, own, seconds)];
    });
    const head = document.createElement("p");
    head.textContent = time(seconds);
    this.element.replaceChildren(head, ...rows);
    this.element.hidden = rows.length === 0;
  }

  #row(system: string, color: number, cells: ChartCell[], seconds: number): HTMLElement {
    const row = document.createElement("p");
    row.append(swatch(color), `${system}: ${cells.map((cell) => this.#valueAt(cell, seconds)).join(" · ")}`);
    return row;
  }

  /** Of the sample that is nearest: cells were not sampled at the same times. */
  #valueAt(cell: ChartCell, at: number): string {
    const sampled = lineOf(cell, this.#measure).flatMap((value, index) =>
      value === null ? [] : [{ value, apart: Math.abs((cell.seconds[index] ?? 0) - at) }],
    );
    const [nearest] = sampled.toSorted((a, b) => a.apart - b.apart);
    return nearest === undefined ? "–" : measured(this.#measure.unit, nearest.value);
  }
}
