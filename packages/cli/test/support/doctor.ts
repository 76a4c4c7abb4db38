import { pgque } from "./pgque.ts";

/** A finding as `pgque doctor --json` prints it. */
export interface Told {
  check: string;
  severity: "ok" | "warning" | "problem";
  found: string;
  why: string | null;
  fix: string[];
}

/** Runs `pgque doctor --json`: what it found, and its exit code. */
export async function doctor(url: string, ...args: string[]): Promise<{ code: number | null; checks: Told[] }> {
  const { code, out, err } = await pgque(["doctor", "--json", ...args], { DATABASE_URL: url });
  if (out === "") throw new Error(`doctor ended with ${code}: ${err}`);
  return { code, checks: JSON.parse(out).checks };
}

/** What one of the checks has found that is not well. */
export async function illsOf(url: string, check: string, ...args: string[]): Promise<Told[]> {
  const { checks } = await doctor(url, ...args);
  return checks.filter((told) => told.check === check && told.severity !== "ok");
}

/** What it says is to be run, as SQL. */
export function statementsOf(told: Told): string {
  return told.fix.filter((line) => !line.startsWith("--")).join("; ");
}
