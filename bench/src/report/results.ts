import type { MajorRun } from "../scenario/servers.ts";
import type { Machine } from "./machine.ts";
import type { MeasuredCode } from "./measured-code.ts";

/** Raised when a field that other programs rely on changes its meaning or goes away. */
export const resultsVersion = 1;

/** One figure over the repeats of a cell that have it. */
export interface Spread {
  median: number;
  min: number;
  max: number;
}

/** What results.json begins with, whatever the scenario. */
export interface ResultsHead {
  schemaVersion: typeof resultsVersion;
  scenario: string;
  /** ISO 8601. */
  startedAt: string;
  machine: Machine;
  /** Absent in runs of before it was noted. */
  code?: MeasuredCode;
  /** What it was run with on the command line, without connections and files. Absent when it was run by a program. */
  command?: string;
  /** Where more than one was asked for; settings.server is then the first one's. */
  majors?: MajorRun[];
}

/** Without the connection string, which may hold a password, and without names of files. */
export type ReportedSettings<Scenario> = Omit<Scenario, "databaseUrl" | "resultsFolder" | "baselineFile"> & {
  indicative: boolean;
  server: Record<string, string>;
  embedded: boolean;
};
