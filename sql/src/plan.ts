import { quoteIdentifier, type SqlClient } from "./client.ts";
import type { InstallOptions } from "./install.ts";
import { packagedRelease } from "./release.ts";
import { begin } from "./script.ts";
import { stepsTo, versionIn } from "./steps.ts";
import { defaultSchema } from "./version.ts";

/** What `install` would do. */
export interface Plan {
  /** The version that is there; null: none. */
  found: string | null;
  /** The version that would be there. */
  version: string;
  /** The transactions that would run, each from its BEGIN to its COMMIT; none: nothing to do. */
  steps: readonly { what: string; sql: string }[];
}

/**
 * What `install` would do, without doing it.
 *
 * @throws Error when no migrations lead here from the installed version, or another build of this version is installed
 */
export async function plan(client: SqlClient, options: Omit<InstallOptions, "giveUpAfterMs"> = {}): Promise<Plan> {
  const { release = packagedRelease } = options;
  const quoted = await quoteIdentifier(client, options.schema ?? defaultSchema);
  const found = await versionIn(client, quoted);
  const steps = await stepsTo(client, quoted, release);
  return {
    found,
    version: steps.length === 0 && found !== null ? found : release.version,
    steps: steps.map(({ what, sql }) => ({ what, sql: `${begin}${sql}commit;\n` })),
  };
}
