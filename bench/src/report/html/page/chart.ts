import uPlot from "uplot";
import { dashOf, lineOf, type ChartTrial, type ChartGroup, type Measure, type ShadedSpan } from "../chart-data.ts";
import { beginsLogarithmic, mayBeLogarithmic, timeAxis, valueAxis, valueScale } from "./axes.ts";
import { paint, seriesPaint } from "./format.ts";
import { legend, readout } from "./legend.ts";

const plotHeight = 220;

/** A chart that is drawn. */
export interface Chart {
  /** To as much room as there is, or to so many pixels. */
  fit: (width?: number) => void;
  /** With the colours of now. */
  repaint: () => void;
}

/** One measure of all trials of a group. */
export function chart(figure: HTMLElement, systems: string[], group: ChartGroup, measure: Measure): Chart {
  const plot = figure.querySelector<HTMLElement>(".plot") ?? figure;
  const { trials, span, title } = group;
  const { unit } = measure;
  const lines = trials.map((trial) => lineOf(trial, measure));
  const data = uPlot.join(trials.map((trial, index) => [trial.seconds, lines[index] ?? []]));
  let logarithmic = beginsLogarithmic(lines, unit);
  const switches = legend(trials, systems, (index, show) => drawn.setSeries(index + 1, { show }));
  const values = readout(trials, systems, measure);
  const below = document.createElement("div");
  below.className = "below";
  below.append(values.element, switches.element);
  plot.after(below);

  const series = (trial: ChartTrial, index: number): uPlot.Series => ({
    show: switches.shows(index),
    stroke: () => paint(seriesPaint(systems.indexOf(trial.system))),
    width: 2,
    dash: dashOf(trial.repeat),
    alpha: trial.invalid ? 0.35 : 1,
    spanGaps: true,
    points: { show: lineOf(trial, measure).filter((value) => value !== null).length < 3 },
  });
  /** Only where the pointer is: the cursors of the other charts follow without a word. */
  const readAt = ({ cursor, over }: uPlot): void => {
    const seconds = over.matches(":hover") && typeof cursor.idx === "number" ? data[0][cursor.idx] : undefined;
    if (seconds === undefined) values.hide();
    else values.show(seconds, switches.shows);
  };
  const draw = (): uPlot =>
    new uPlot(
      {
        width: plot.clientWidth,
        height: plotHeight,
        // Room for the name of the shaded phase, and for half of the last time.
        padding: [18, 18, 0, 0],
        legend: { show: false },
        cursor: { y: false, drag: { x: false, y: false }, sync: { key: title } },
        scales: { x: { time: false }, y: valueScale(lines, unit, logarithmic) },
        axes: [timeAxis(), valueAxis(unit, logarithmic)],
        series: [{}, ...trials.map(series)],
        hooks: { drawClear: span === null ? [] : [(one) => shade(one, span)], setCursor: [readAt] },
      },
      data,
      plot,
    );
  let drawn = draw();
  if (mayBeLogarithmic(lines, unit)) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "log scale";
    button.setAttribute("aria-pressed", String(logarithmic));
    button.addEventListener("click", () => {
      logarithmic = !logarithmic;
      drawn.destroy();
      drawn = draw();
      button.setAttribute("aria-pressed", String(logarithmic));
    });
    figure.querySelector("figcaption")?.append(button);
  }
  const fit = (width = plot.clientWidth): void => {
    if (width > 0 && width !== drawn.width) drawn.setSize({ width, height: plotHeight });
  };
  new ResizeObserver(() => fit()).observe(plot);
  return { fit, repaint: () => drawn.redraw(false, true) };
}

/** Behind everything else, its name above it. */
function shade(plot: uPlot, { label, fromSeconds, untilSeconds }: ShadedSpan): void {
  const { ctx, bbox } = plot;
  const left = plot.valToPos(fromSeconds, "x", true);
  const right = plot.valToPos(untilSeconds, "x", true);
  const pixels = devicePixelRatio;
  ctx.save();
  ctx.fillStyle = paint("--held");
  ctx.fillRect(left, bbox.top, right - left, bbox.height);
  ctx.fillStyle = paint("--text-soft");
  ctx.font = `${11 * pixels}px system-ui, sans-serif`;
  ctx.textBaseline = "bottom";
  ctx.fillText(label, left, bbox.top - 3 * pixels);
  ctx.restore();
}
