import { explain } from "../output/failure.ts";
import { consumersCheck } from "./consumers.ts";
import { deadLettersCheck } from "./dead-letters.ts";
import type { Check, Examination, Finding, Severity } from "./finding.ts";
import { horizonCheck } from "./horizon.ts";
import { locksCheck } from "./locks.ts";
import { maintenanceCheck } from "./maintenance.ts";
import { notificationsCheck } from "./notifications.ts";
import { rotationCheck } from "./rotation.ts";
import { rightsCheck, schemaCheck } from "./schema.ts";
import { roleDefaultsCheck } from "./role-defaults.ts";
import { settingsCheck } from "./settings.ts";

/** In the order in which they are told. */
const checks: readonly Check[] = [
  maintenanceCheck,
  locksCheck,
  rotationCheck,
  consumersCheck,
  deadLettersCheck,
  horizonCheck,
  settingsCheck,
  roleDefaultsCheck,
  notificationsCheck,
];

/** A finding, and the check that has it. */
export interface NamedFinding extends Finding {
  check: string;
}

/** What may be left out, by name. Without a schema there is nothing else to look at. */
export const ignorable: readonly string[] = [rightsCheck, ...checks].map(({ name }) => name);

/**
 * Runs every check that can be run: without a schema, or the right to look at it, those that need none.
 *
 * @param ignored names of checks whose findings nobody wants
 */
export async function examine(examination: Examination, ignored: readonly string[] = []): Promise<NamedFinding[]> {
  const isWanted = ({ name }: Check): boolean => !ignored.includes(name);
  const findings = await run(schemaCheck, examination);
  let canLook = worstOf(findings) === "ok";
  if (canLook) {
    const rights = await run(rightsCheck, examination);
    if (isWanted(rightsCheck)) findings.push(...rights);
    canLook = worstOf(rights) !== "problem";
  }
  for (const check of checks) {
    if (isWanted(check) && (canLook || !check.needsSchema)) findings.push(...(await run(check, examination)));
  }
  return findings;
}

const order: readonly Severity[] = ["ok", "advice", "warning", "problem"];

/** The worst that was found. */
export function worstOf(findings: readonly Finding[]): Severity {
  return order[Math.max(0, ...findings.map(({ severity }) => order.indexOf(severity)))] ?? "ok";
}

/** A check that fails is a finding too: the others go on. */
async function run(check: Check, examination: Examination): Promise<NamedFinding[]> {
  try {
    return (await check.run(examination)).map((finding) => ({ check: check.name, ...finding }));
  } catch (error) {
    const found = `could not be looked at: ${explain(error)}`;
    return [{ check: check.name, severity: "problem", found, why: "it may hide anything" }];
  }
}
