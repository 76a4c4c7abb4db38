import { styleText } from "node:util";
import { sanitize } from "@pgque/client/redact";
import { json } from "../output/json.ts";
import { counted } from "../output/text.ts";
import { type NamedFinding, worstOf } from "./examine.ts";
import type { Severity } from "./finding.ts";

const colors = { ok: "green", advice: "cyan", warning: "yellow", problem: "red" } as const;

/** What was found, for people: a line each, and below it why it matters and what fixes it. */
export function textReport(findings: readonly NamedFinding[], ignored: readonly string[]): string {
  const width = Math.max(...findings.map(({ check }) => check.length));
  const indent = " ".repeat("problem".length + width + 4);
  const lines = findings.flatMap(({ check, severity, found, why, fix = [] }) => [
    `${label(severity)}  ${check.padEnd(width)}  ${sanitize(found)}`,
    ...(why === undefined ? [] : [`${indent}why:  ${why}`]),
    ...fix.map((statement, i) => `${indent}${i === 0 ? "fix:  " : "      "}${terminated(sanitize(statement))}`),
  ]);
  return `${lines.join("\n")}\n\n${summary(findings, ignored)}`;
}

/** The same for programs. */
export function jsonReport(findings: readonly NamedFinding[], ignored: readonly string[]): string {
  const checks = findings.map(({ check, severity, found, why = null, fix = [] }) => {
    return { check, severity, found, why, fix };
  });
  return json({ result: worstOf(findings), checks, ignored });
}

function label(severity: Severity): string {
  return styleText(colors[severity], severity.padEnd("problem".length), { stream: process.stdout });
}

/** A statement with its semicolon; what is said to people has none. */
function terminated(statement: string): string {
  return statement.startsWith("--") ? statement : `${statement};`;
}

function summary(findings: readonly NamedFinding[], ignored: readonly string[]): string {
  const counts = (["problem", "warning"] as const).map((of) => {
    const count = findings.filter(({ severity }) => severity === of).length;
    return count === 0 ? "" : counted(count, of);
  });
  const told = counts.filter(Boolean).join(", ");
  const left = ignored.length === 0 ? "" : ` Not looked at: ${ignored.join(", ")}.`;
  return `${told === "" ? "All is well" : told}.${left}`;
}
