import {
  heading,
  list,
  paragraph,
  prose,
  titleOf,
  type Block,
  type Document,
  type TableBlock,
} from "../report/document.ts";
import type { EngineResults } from "./engine-results.ts";
import { engineCaveats, summaryOf, verdictLine, type FigureSummary } from "./engine-summary.ts";
import { spread } from "../report/format.ts";
import { machineLine } from "../report/machine.ts";
import { serverLine } from "../report/server-line.ts";

/** What was met, and a table for each figure with all that is needed to judge it. */
export function engineDocument(results: EngineResults): Document {
  const summaries = summaryOf(results);
  const { settings, machine } = results;
  return {
    title: titleOf(results),
    blocks: [
      ...paragraph(engineCaveats(results).join(" ")),
      ...list(summaries.map(verdictLine)),
      ...paragraph(
        `The median of ${settings.repeat} repeat(s), and the range in brackets; targets are compared with the median.`,
      ),
      ...summaries.flatMap((summary) => section(summary, settings.sizes[summary.figure.name] ?? {})),
      heading("Settings"),
      ...list([`${settings.repeat} repeat(s), figures in turn, fresh databases for each`, serverLine(settings)]),
      heading("Machine"),
      ...paragraph(machineLine(machine)),
    ],
  };
}

function section(summary: FigureSummary, sizes: Record<string, number>): Block[] {
  const { figure, rows, verdict, errors } = summary;
  const sizesText = Object.entries(sizes)
    .map(([name, size]) => `${name} ${size}`)
    .join(", ");
  return [
    heading(`${figure.name}: ${verdict}`),
    ...paragraph(prose(`Measured: ${figure.statement}.`)),
    ...list(errors.map((error) => `error: ${error}`)),
    ...(rows.some((row) => row.spread !== null) ? [table(summary)] : []),
    ...list([...figure.method.map(prose), `sizes: ${sizesText}`]),
  ];
}

function table({ figure, rows }: FigureSummary): TableBlock {
  return {
    kind: "table",
    caption: figure.name,
    heads: ["", "measured", "target", ""],
    textColumns: 1,
    rows: rows.map(({ value, spread: figures, verdict }) => ({
      cells: [value.label, spread(figures, value.format), value.target?.text ?? "", verdict ?? ""],
      absence: null,
    })),
  };
}
