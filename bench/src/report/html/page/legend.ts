import { lineOf, type ChartCell, type Measure } from "../chart-data.ts";
import { measured, swatch, time } from "./format.ts";

function element<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  ...content: (string | Node)[]
): HTMLElementTagNameMap[Name] {
  const made = document.createElement(name);
  made.append(...content);
  return made;
}

/**
 * The systems of one chart: a button for each, which hides and shows its lines.
 *
 * @param show is told of every cell whose line comes or goes
 */
export function legend(cells: ChartCell[], systems: string[], show: (cell: number, shown: boolean) => void) {
  const hidden = new Set<string>();
  const entry = (system: string, color: number): HTMLElement => {
    const own = cells.flatMap((cell, index) => (cell.system === system ? [{ ...cell, index }] : []));
    const button = element("button", swatch(color), system + invalidText(own));
    button.type = "button";
    button.setAttribute("aria-pressed", "true");
    button.addEventListener("click", () => {
      const shown = hidden.delete(system);
      if (!shown) hidden.add(system);
      button.setAttribute("aria-pressed", String(shown));
      for (const { index } of own) show(index, shown);
    });
    return element("li", button);
  };
  const list = element(
    "ul",
    ...systems.flatMap((system, color) => (cells.some((cell) => cell.system === system) ? [entry(system, color)] : [])),
  );
  list.className = "legend";
  return { element: list, shows: (cell: number): boolean => !hidden.has(cells[cell]?.system ?? "") };
}

function invalidText(cells: ChartCell[]): string {
  const repeats = cells.filter(({ invalid }) => invalid).map(({ repeat }) => repeat);
  if (repeats.length === 0) return "";
  return repeats.length === cells.length ? " (invalid)" : ` (repeat ${repeats.join(", ")} invalid)`;
}

/** What the lines are under the cursor: a box below the chart, over what is there, so that nothing moves when it comes and goes. */
export function readout(cells: ChartCell[], systems: string[], measure: Measure) {
  const box = element("div");
  box.className = "readout";
  box.hidden = true;
  // The tables have the figures for those who do not see the cursor.
  box.ariaHidden = "true";
  return {
    element: box,
    hide(): void {
      box.hidden = true;
    },
    /** At so many seconds; systems that are hidden are left out. */
    show(seconds: number, shows: (cell: number) => boolean): void {
      const rows = systems.flatMap((system, color) => {
        const own = cells.filter((cell, index) => cell.system === system && shows(index));
        const values = own.map((cell) => valueAt(cell, measure, seconds)).join(" · ");
        return own.length === 0 ? [] : [element("p", swatch(color), `${system}: ${values}`)];
      });
      box.replaceChildren(element("p", time(seconds)), ...rows);
      box.hidden = rows.length === 0;
    },
  };
}

/** Of the sample that is nearest: cells were not sampled at the same times. */
function valueAt(cell: ChartCell, measure: Measure, at: number): string {
  const sampled = lineOf(cell, measure).flatMap((value, index) =>
    value === null ? [] : [{ value, apart: Math.abs((cell.seconds[index] ?? 0) - at) }],
  );
  const [nearest] = sampled.toSorted((a, b) => a.apart - b.apart);
  return nearest === undefined ? "–" : measured(measure.unit, nearest.value);
}
