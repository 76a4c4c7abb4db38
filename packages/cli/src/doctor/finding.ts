import type { Client } from "pg";

/** How bad it is. A problem needs somebody now; a warning will, or might. Advice would make a server that is in order a better one. */
export type Severity = "ok" | "advice" | "warning" | "problem";

/** What a check has found, in one sentence each. */
export interface Finding {
  severity: Severity;
  found: string;
  /** Why it matters; absent when all is well. */
  why?: string;
  /** The statements that fix it, to be run as they are, and what else has to be done, after `-- `. */
  fix?: string[];
}

/** What a check looks at, and by which measure. */
export interface Examination {
  client: Client;
  /** Another connection to the same database. */
  connect: () => Promise<Client>;
  /** Name of the schema. */
  schema: string;
  /** The same, quoted for SQL. */
  quoted: string;
  /** From this age on a transaction is a warning; from ten times that on, a problem. */
  olderThanMs: number;
  /** From this time on, waiting messages are a warning; from ten times that on, a problem. */
  lagMs: number;
}

/** One subject that `doctor` looks at. */
export interface Check {
  name: string;
  /** It calls functions of the schema that only those may call who may look. */
  needsSchema: boolean;
  run(examination: Examination): Promise<Finding[]>;
}

/** Nothing to worry about. */
export function ok(found: string): Finding {
  return { severity: "ok", found };
}

/** By how long something lasts: a warning from a time on, and a problem from ten times that on. */
export function severityOf(lastsMs: number, warnMs: number): Severity {
  if (lastsMs >= 10 * warnMs) return "problem";
  return lastsMs >= warnMs ? "warning" : "ok";
}

/** What something that lasts for so long is: as it should be, or as bad as that. */
export function lasting(lastsMs: number, warnMs: number, fine: string, bad: Omit<Finding, "severity">): Finding {
  const severity = severityOf(lastsMs, warnMs);
  return severity === "ok" ? ok(fine) : { severity, ...bad };
}
