import { reasonOf } from "./failure.ts";
import { openServer, type Server } from "./server.ts";
import type { MajorRun } from "../report/results.ts";
import type { ScenarioSettings } from "./scenario.ts";

/** The servers of a run. */
export interface Servers {
  /** At least one. */
  open: [Server, ...Server[]];
  /** Of every major that was asked for, in that order. */
  majors: MajorRun[];
  close(): Promise<void>;
}

/**
 * Opens all servers before anything is measured: then every trial has the same idle ones beside it, the first as the last, none starts while another is
 * measured, and what cannot be started is known before the time left is told. An idle one costs its background processes' wake-ups, some in a second.
 * Throws when there is none, with several majors only when none of them can be started.
 */
export async function openServers(
  settings: ScenarioSettings,
  more: Record<string, string | number> | undefined,
): Promise<Servers> {
  const open: Server[] = [];
  const majors: MajorRun[] = [];
  const close = async (): Promise<void> => {
    for (const server of open) await server.close();
  };
  const failures: unknown[] = [];
  for (const major of settings.postgresMajors) {
    try {
      const server = await openServer(settings, major, more);
      open.push(server);
      majors.push({ major, postgres: server.version, server: server.settings, skipped: null });
    } catch (error) {
      failures.push(error);
      const skipped = reasonOf(error);
      majors.push({ major, postgres: null, server: null, skipped });
    }
  }
  const [first, ...others] = open;
  if (first !== undefined) return { open: [first, ...others], majors, close };
  if (failures.length === 1) throw failures[0];
  throw new AggregateError(failures, `no server could be started: ${majors.map(skippedText).join("; ")}`);
}

/** "PostgreSQL 14: skipped, because …" */
export const skippedText = ({ major, skipped }: MajorRun): string => `PostgreSQL ${major}: skipped, because ${skipped}`;
