import { makeFolder, resultsFolder } from "./report/folder.ts";
import { machine } from "./report/machine.ts";
import { resultsVersion, type ResultsHead } from "./report/results.ts";
import { openServer, type Server, type ServerSettings } from "./server.ts";

/** What a run of any scenario has before it measures anything. The server is the caller's to close. */
export interface Begun {
  folder: string;
  server: Server;
  head: ResultsHead;
}

export async function begin(
  scenario: string,
  settings: ServerSettings & { resultsFolder: string | null },
): Promise<Begun> {
  const startedAt = new Date();
  const folder = resultsFolder(settings.resultsFolder, scenario, startedAt);
  await makeFolder(folder);
  const server = await openServer(settings);
  return {
    folder,
    server,
    head: { schemaVersion: resultsVersion, scenario, startedAt: startedAt.toISOString(), machine: machine() },
  };
}
