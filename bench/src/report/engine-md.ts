import type { EngineResults } from "./engine-results.ts";
import { engineCaveats, summaryOf, verdictLine, type FigureSummary } from "./engine-summary.ts";
import { spread } from "./format.ts";
import { machineLine } from "./machine.ts";
import { mdItem, mdTable } from "./md-table.ts";
import { serverLine } from "./server-line.ts";

/** report.md: what was met, and a table for each figure with all that is needed to judge it. */
export function engineMarkdown(results: EngineResults): string {
  const summaries = summaryOf(results);
  const { settings, machine, startedAt } = results;
  return [
    `# Benchmark \`${results.scenario}\`, ${startedAt.slice(0, 16).replace("T", " ")} UTC`,
    engineCaveats(results).join(" "),
    summaries.map(verdictLine).map(mdItem).join("\n"),
    `The median of ${settings.repeat} repeat(s), and the range in brackets; targets are compared with the median.`,
    ...summaries.flatMap((summary) => section(summary, settings.sizes[summary.figure.name] ?? {})),
    "## Settings",
    [`${settings.repeat} repeat(s), figures in turn, fresh databases for each`, serverLine(settings)]
      .map(mdItem)
      .join("\n"),
    "## Machine",
    machineLine(machine),
  ]
    .join("\n\n")
    .concat("\n");
}

function section({ figure, rows, verdict, errors }: FigureSummary, sizes: Record<string, number>): string[] {
  const measured = rows.some((row) => row.spread !== null);
  const table = mdTable(
    ["", "measured", "target", ""],
    rows.map(({ value, spread: figures, verdict }) => [
      value.label,
      spread(figures, value.format),
      value.target?.text ?? "",
      verdict ?? "",
    ]),
    1,
  );
  return [
    `## ${figure.name}: ${verdict}`,
    `Measured: ${figure.statement}.`,
    ...errors.map((error) => mdItem(`error: ${error}`)),
    ...(measured ? [table] : []),
    [
      ...figure.method,
      `sizes: ${Object.entries(sizes)
        .map(([name, size]) => `${name} ${size}`)
        .join(", ")}`,
    ]
      .map(mdItem)
      .join("\n"),
  ];
}
