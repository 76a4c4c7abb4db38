import type { Client } from "pg";
import type { Policy } from "./policy.ts";

/** The role of guard lacks a right without which it would do nothing, and look like one that has nothing to do. */
export class PowerlessError extends Error {
  override readonly name = "PowerlessError";
}

/**
 * Every role sees and ends transactions of its own; of others it sees the times as a member of pg_read_all_stats, and ends them as one of
 * pg_signal_backend.
 *
 * @throws PowerlessError
 */
export async function checkRights(client: Client, policy: Policy): Promise<void> {
  const needed = ["pg_read_all_stats", ...(policy.signal === undefined ? [] : ["pg_signal_backend"])];
  const { rows } = await client.query<{ role: string; isSuperuser: boolean; missing: string[] }>(
    `select quote_ident(current_user) as role,
            current_setting('is_superuser')::boolean as "isSuperuser",
            array(select r from unnest($1::text[]) r where not pg_has_role(r, 'usage')) as missing`,
    [needed],
  );
  const [{ role, isSuperuser, missing } = { role: "", isSuperuser: false, missing: [] }] = rows;
  if (policy.signal !== undefined && policy.includeSuperusers && !isSuperuser) {
    throw new PowerlessError(
      `expected a superuser for --include-superusers, got: ${role}. PostgreSQL lets nobody else end a superuser's session`,
    );
  }
  if (missing.length === 0) return;
  throw new PowerlessError(
    `expected ${role} to have the rights of ${needed.join(" and ")}, got a role without. Run: grant ${missing.join(", ")} to ${role}`,
  );
}
