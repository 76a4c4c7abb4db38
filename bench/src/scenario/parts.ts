import type { Document } from "../report/document.ts";
import { documentOfMajors } from "../report/majors-document.ts";
import type { Server } from "../server.ts";
import type { Scenario } from "./scenario.ts";
import { notRunText, type MajorRun } from "./servers.ts";

/** What was measured on one server: results that hold nothing of another, so that whatever is made of them mixes no majors. */
export interface Part<Measured, Results> {
  server: Server;
  results: Results;
  measured: Measured[];
}

type Reporting<Measured, Results> = Pick<Scenario<never, never, never, Measured, Results>, "document" | "report">;

/** A major that was asked for alone is reported as such. */
const severalAsked = (majors: MajorRun[]): boolean => majors.length > 1;

/** The report of all servers. */
export function documentOf<Measured, Results>(
  scenario: Reporting<Measured, Results>,
  parts: Part<Measured, Results>[],
  majors: MajorRun[],
  baseline: Results | null,
): Document {
  const documents = parts.map(({ server, results, measured }) => ({
    postgres: server.version,
    document: scenario.document(results, measured, baseline),
  }));
  const [only] = documents;
  if (only !== undefined && !severalAsked(majors)) return only.document;
  const notRun = majors.flatMap(({ major, notRun: reason }) => (reason === null ? [] : [{ major, reason }]));
  return documentOfMajors(documents, notRun);
}

/** The tables of all servers for a terminal, one after the other: a column more would not fit. */
export function terminalReportOf<Measured, Results>(
  scenario: Reporting<Measured, Results>,
  parts: Part<Measured, Results>[],
  majors: MajorRun[],
  baseline: Results | null,
): string {
  const texts = parts.map(({ server, results }) => {
    const text = scenario.report(results, baseline);
    return severalAsked(majors) ? `PostgreSQL ${server.version}\n\n${text}` : text;
  });
  return [...texts, ...majors.filter(({ notRun }) => notRun !== null).map(notRunText)].join("\n\n\n");
}
