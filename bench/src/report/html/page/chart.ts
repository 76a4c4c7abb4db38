import uPlot from "uplot";
import { dashOf, lineOf, type ChartCell, type ChartGroup, type Measure } from "../chart-data.ts";
import { timeAxis, valueAxis } from "./axes.ts";
import { Legend } from "./legend.ts";
import { paint, seriesPaint } from "./paint.ts";
import { Readout } from "./readout.ts";
import { beginsLogarithmic, mayBeLogarithmic, valueScale } from "./scale.ts";
import { shade } from "./shade.ts";

const plotHeight = 220;

/** One measure of all cells of a group. */
export class Chart {
  readonly #figure: HTMLElement;
  readonly #plot: HTMLElement;
  readonly #systems: string[];
  readonly #group: ChartGroup;
  readonly #measure: Measure;
  readonly #legend: Legend;
  readonly #readout: Readout;
  readonly #data: uPlot.AlignedData;
  #logarithmic: boolean;
  #drawn: uPlot;

  constructor(figure: HTMLElement, systems: string[], group: ChartGroup, measure: Measure) {
    this.#figure = figure;
    this.#plot = figure.querySelector(".plot") ?? figure;
    this.#systems = systems;
    this.#group = group;
    this.#measure = measure;
    this.#data = uPlot.join(group.cells.map((cell) => [cell.seconds, lineOf(cell, measure)]));
    this.#logarithmic = beginsLogarithmic(this.#lines(), measure.unit);
    this.#legend = new Legend(group.cells, systems, (index, show) => this.#drawn.setSeries(index + 1, { show }));
    this.#readout = new Readout(group.cells, systems, measure);
    const below = document.createElement("div");
    below.className = "below";
    below.append(this.#readout.element, this.#legend.element);
    this.#plot.after(below);
    this.#drawn = this.#draw();
    if (mayBeLogarithmic(this.#lines(), measure.unit)) this.#addScaleButton();
    new ResizeObserver(() => this.fit()).observe(this.#plot);
  }

  /** To as much room as there is, or to so many pixels. */
  fit(width = this.#plot.clientWidth): void {
    if (width > 0 && width !== this.#drawn.width) this.#drawn.setSize({ width, height: plotHeight });
  }

  /** With the colours of now. */
  repaint(): void {
    this.#drawn.redraw(false, true);
  }

  #lines(): (number | null)[][] {
    return this.#group.cells.map((cell) => lineOf(cell, this.#measure));
  }

  #draw(): uPlot {
    const { unit } = this.#measure;
    const { span } = this.#group;
    const shown = this.#group.cells.map((_, index) => this.#legend.shows(index));
    return new uPlot(
      {
        width: this.#plot.clientWidth,
        height: plotHeight,
        // Room for the name of the shaded phase, and for half of the last time.
        padding: [18, 18, 0, 0],
        legend: { show: false },
        cursor: { y: false, drag: { x: false, y: false }, sync: { key: this.#group.title } },
        scales: { x: { time: false }, y: valueScale(this.#lines(), unit, this.#logarithmic) },
        axes: [timeAxis(), valueAxis(unit, this.#logarithmic)],
        series: [{}, ...this.#group.cells.map((cell, index) => this.#series(cell, shown[index] ?? true))],
        hooks: {
          drawClear: span === null ? [] : [(plot) => shade(plot, span)],
          setCursor: [(plot) => this.#readAt(plot)],
        },
      },
      this.#data,
      this.#plot,
    );
  }

  #series(cell: ChartCell, show: boolean): uPlot.Series {
    const { system, repeat, invalid } = cell;
    const few = lineOf(cell, this.#measure).filter((value) => value !== null).length < 3;
    return {
      show,
      stroke: () => paint(seriesPaint(this.#systems.indexOf(system))),
      width: 2,
      dash: dashOf(repeat),
      alpha: invalid ? 0.35 : 1,
      spanGaps: true,
      points: { show: few },
    };
  }

  /** Only where the pointer is: the cursors of the other charts follow without a word. */
  #readAt({ cursor, over }: uPlot): void {
    const seconds = over.matches(":hover") && typeof cursor.idx === "number" ? this.#data[0][cursor.idx] : undefined;
    if (seconds === undefined) this.#readout.hide();
    else this.#readout.show(seconds, (cell) => this.#legend.shows(cell));
  }

  #addScaleButton(): void {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "log scale";
    const state = (): void => button.setAttribute("aria-pressed", String(this.#logarithmic));
    button.addEventListener("click", () => {
      this.#logarithmic = !this.#logarithmic;
      this.#drawn.destroy();
      this.#drawn = this.#draw();
      state();
    });
    state();
    this.#figure.querySelector("figcaption")?.append(button);
  }
}
