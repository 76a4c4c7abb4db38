import type { Server, ServerSettings } from "../server.ts";
import type { ReportedSettings } from "./results.ts";

/** What results say of the settings of a run. */
export function reportedSettings<
  Scenario extends ServerSettings & { resultsFolder: string | null; baselineFile?: string | null },
>(settings: Scenario, indicative: boolean, server: Server): ReportedSettings<Scenario> {
  const { databaseUrl: _secret, resultsFolder: _folder, baselineFile: _baseline, ...reported } = settings;
  return { ...reported, indicative, server: server.settings, embedded: server.embedded };
}
