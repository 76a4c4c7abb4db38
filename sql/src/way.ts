import type { Migration } from "./migrations.ts";
import { schemaVersion } from "./version.ts";

/**
 * The migrations that lead from a version to the last.
 *
 * @throws Error when there is no way
 */
export function migrationsFrom(
  found: string | null,
  known: readonly Migration[],
  quoted: string,
): readonly Migration[] {
  const at = known.findIndex(({ version }) => version === found);
  if (found === null || at >= 0) return known.slice(at + 1);
  throw new Error(
    `expected schema ${quoted} to be of version ${known.at(-1)?.version ?? schemaVersion} or not there yet, found version ${found}: ` +
      `use the pgque package of version ${found}, or uninstall the schema first`,
  );
}
