import {
  heading,
  list,
  paragraph,
  prose,
  titleOf,
  type Block,
  type Document,
  type TableBlock,
  type TableRow,
} from "../../report/document.ts";
import { spread, wrap } from "../../report/format.ts";
import { machineLine, type Spread, serverLine } from "../../report/results.ts";
import { tableText } from "../../report/table.ts";
import { caveatsOf, medians } from "../../report/scenario-report.ts";
import { spreadOf } from "../../measure/statistics.ts";
import { outcomeOf, type TargetOutcome } from "../../runner/target.ts";
import type { EngineResults } from "./results.ts";
import type { Microbenchmark, Value } from "./microbenchmark.ts";
import { microbenchmarkNamed } from "./registry.ts";

type Verdict = "met" | "not met" | "not measured";

/** One microbenchmark over its repeats. */
interface Summary {
  microbenchmark: Microbenchmark;
  sizes: Record<string, number>;
  /** The verdict is that on the median; null for a value without a target. */
  rows: { value: Value; spread: Spread | null; verdict: Verdict | null }[];
  /** Of all targets together: one repeat that failed makes it an error. */
  verdict: Verdict | "no target" | "error";
  errors: string[];
}

export function summaryOf({ settings, microbenchmarks }: EngineResults): Summary[] {
  return settings.microbenchmarks.flatMap((name): Summary[] => {
    const measured = microbenchmarks.filter((result) => result.name === name);
    if (measured.length === 0) return [];
    const microbenchmark = microbenchmarkNamed(name);
    const errors = measured.flatMap(({ error }) => error ?? []);
    const rows = Object.entries(microbenchmark.values).map(([key, value]) => {
      const spread = spreadOf(measured.map(({ values }) => values[key]));
      return { value, spread, verdict: verdictOn(value, spread?.median ?? null) };
    });
    const verdict = errors.length > 0 ? "error" : together(rows.map((row) => row.verdict));
    return [{ microbenchmark, sizes: settings.sizes[name] ?? {}, rows, verdict, errors }];
  });
}

function verdictOn({ target }: Value, measured: number | null): Verdict | null {
  if (target === undefined) return null;
  if (measured === null) return "not measured";
  return target.met(measured) ? "met" : "not met";
}

const together = (verdicts: (Verdict | null)[]): Verdict | "no target" =>
  (["not met", "not measured", "met"] as const).find((verdict) => verdicts.includes(verdict)) ?? "no target";

/** Of one repeat. */
export const verdictOf = ({ values }: Microbenchmark, measured: Record<string, number | null>) =>
  together(Object.entries(values).map(([key, value]) => verdictOn(value, measured[key] ?? null)));

export function engineOutcomes(results: EngineResults): TargetOutcome[] {
  return summaryOf(results).flatMap(({ microbenchmark, rows, errors }) =>
    rows.flatMap(({ value: { label, target, format }, spread: measured }) =>
      target === undefined ? [] : [outcomeOf(`${microbenchmark.name}: ${label}`, target, format, { measured, errors })],
    ),
  );
}

/** What was met, and a table for each microbenchmark with all that is needed to judge it. */
export function engineDocument(results: EngineResults): Document {
  const { settings, machine } = results;
  const summaries = summaryOf(results);
  return {
    title: titleOf(results),
    blocks: [
      ...paragraph(caveats(results)),
      ...list(summaries.map(verdictLine)),
      ...paragraph(`${medians(results)} Targets are compared with the median.`),
      ...summaries.flatMap(section),
      heading("Settings"),
      ...list([
        `${settings.repeat} repeat(s), microbenchmarks in turn, fresh databases for each`,
        serverLine(settings),
      ]),
      heading("Machine"),
      ...paragraph(machineLine(machine)),
    ],
  };
}

function section(summary: Summary): Block[] {
  const { microbenchmark, sizes, verdict, errors } = summary;
  const { name, statement, method } = microbenchmark;
  const sizesText = Object.entries(sizes).map((size) => size.join(" "));
  const rows = rowsOf(summary);
  return [
    heading(`${name}: ${verdict}`),
    ...paragraph(prose(`Measured: ${statement}.`)),
    ...list(errors.map((error) => `error: ${error}`)),
    ...(rows.length === 0 ? [] : [table(name, [""], rows)]),
    ...list([...method.map(prose), `sizes: ${sizesText.join(", ")}`]),
  ];
}

const table = (caption: string, names: string[], rows: TableRow[]): TableBlock => ({
  kind: "table",
  caption,
  heads: [...names, "measured", "target", ""],
  textColumns: names.length,
  rows,
});

/** Nothing of what failed in every repeat. */
function rowsOf({ rows, errors }: Summary): TableRow[] {
  return rows
    .filter((row) => row.spread !== null || errors.length === 0)
    .map(({ value: { label, format, target }, spread: measured, verdict }) => ({
      cells: [label, spread(measured, format), target?.text ?? "", verdict ?? ""],
      absence: null,
    }));
}

/** The table for a terminal, and under it what was met. */
export function engineTerminalReport(results: EngineResults): string {
  const summaries = summaryOf(results);
  const rows = summaries.flatMap((summary) => [
    ...summary.errors.map((error) => ({ cells: [summary.microbenchmark.name, ""], absence: `error: ${error}` })),
    ...rowsOf(summary).map((row) => ({ ...row, cells: [summary.microbenchmark.name, ...row.cells] })),
  ]);
  const verdicts = summaries.map((summary) => wrap(verdictLine(summary))).join("\n");
  return [tableText(table("Microbenchmarks", ["microbenchmark", ""], rows)), verdicts, wrap(caveats(results))]
    .filter(Boolean)
    .join("\n\n");
}

const caveats = (results: EngineResults): string =>
  caveatsOf(
    results,
    "small sizes, and short.",
    "The harness shares the cores with an embedded server: compare ratios, not rates.",
  ).join(" ");

/** Whether a microbenchmark's targets are met, and by what. */
function verdictLine({ microbenchmark: { name }, rows, verdict, errors }: Summary): string {
  if (verdict === "error") return `${name}: error: ${errors.join("; ")}`;
  const targets = rows.flatMap(({ value: { label, format, target }, spread, verdict }) => {
    const median = spread === null ? "not measured" : format(spread.median);
    return target === undefined ? [] : `${label} ${median} (${target.text}${verdict === "not met" ? ", not met" : ""})`;
  });
  return [name, verdict, ...(targets.length === 0 ? [] : [targets.join(", ")])].join(": ");
}
