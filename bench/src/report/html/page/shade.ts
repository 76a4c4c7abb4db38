import type uPlot from "uplot";
import type { ShadedSpan } from "../chart-data.ts";
import { paint } from "./paint.ts";

/** Behind everything else, its name above it. */
export function shade(plot: uPlot, { label, fromSeconds, untilSeconds }: ShadedSpan): void {
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
