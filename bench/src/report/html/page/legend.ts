import { lineOf, type ChartTrial, type Measure } from "../chart-data.ts";
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
 * @param show is told of every trial whose line comes or goes
 */
export function legend(trials: ChartTrial[], systems: string[], show: (trial: number, shown: boolean) => void) {
  const hidden = new Set<string>();
  const entry = (system: string, color: number): HTMLElement => {
    const own = trials.flatMap((trial, index) => (trial.system === system ? [{ ...trial, index }] : []));
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
    ...systems.flatMap((system, color) =>
      trials.some((trial) => trial.system === system) ? [entry(system, color)] : [],
    ),
  );
  list.className = "legend";
  return { element: list, shows: (trial: number): boolean => !hidden.has(trials[trial]?.system ?? "") };
}

function invalidText(trials: ChartTrial[]): string {
  const repeats = trials.filter(({ invalid }) => invalid).map(({ repeat }) => repeat);
  if (repeats.length === 0) return "";
  return repeats.length === trials.length ? " (invalid)" : ` (repeat ${repeats.join(", ")} invalid)`;
}

/** What the lines are under the cursor: a box below the chart, over what is there, so that nothing moves when it comes and goes. */
export function readout(trials: ChartTrial[], systems: string[], measure: Measure) {
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
    show(seconds: number, shows: (trial: number) => boolean): void {
      const rows = systems.flatMap((system, color) => {
        const own = trials.filter((trial, index) => trial.system === system && shows(index));
        const values = own.map((trial) => valueAt(trial, measure, seconds)).join(" · ");
        return own.length === 0 ? [] : [element("p", swatch(color), `${system}: ${values}`)];
      });
      box.replaceChildren(element("p", time(seconds)), ...rows);
      box.hidden = rows.length === 0;
    },
  };
}

/** Of the sample that is nearest: trials were not sampled at the same times. */
function valueAt(trial: ChartTrial, measure: Measure, at: number): string {
  const sampled = lineOf(trial, measure).flatMap((value, index) =>
    value === null ? [] : [{ value, apart: Math.abs((trial.seconds[index] ?? 0) - at) }],
  );
  const [nearest] = sampled.toSorted((a, b) => a.apart - b.apart);
  return nearest === undefined ? "–" : measured(measure.unit, nearest.value);
}
