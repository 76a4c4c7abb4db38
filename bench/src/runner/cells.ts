import { whyNot } from "./failure.ts";
import { quotient, spreadOf } from "../measure/statistics.ts";
import { samplesCsv } from "../report/files.ts";
import { reportedSettings, type ReportedSettings, type ResultsHead, type Spread } from "../report/results.ts";
import type { MeasuredRow } from "../report/table.ts";
import type { Server, ServerSettings } from "./server.ts";
import type { StepContext } from "./scenario.ts";

/** A cell that was planned: its figures, or why there are none. */
export type Cell<Plan, Figures> = Plan & {
  /** Of the server, as in "17.10". */
  postgres: string;
  /** Null when there is an error, or it was not run. */
  figures: Figures | null;
  /** Why it was not run: something that it needs is not installed. */
  notRun: string | null;
  /** Why there are no figures though it was run. */
  error: string | null;
};

/** One system, before it is measured. */
export interface SystemPlan {
  system: string;
  /** From 1. */
  repeat: number;
}

/** The results of a scenario of single cells. */
export interface CellResults<Settings, Measured> extends ResultsHead {
  settings: ReportedSettings<Settings>;
  cells: Measured[];
  /** True when it was stopped before all cells were run. */
  interrupted: boolean;
}

/** Before anything is measured. */
export function emptyResults<
  Settings extends ServerSettings & { quick: boolean; resultsFolder: string | null },
  Measured,
>(head: ResultsHead, settings: Settings, server: Server): CellResults<Settings, Measured> {
  return {
    ...head,
    settings: reportedSettings(settings, settings.quick, server),
    cells: [],
    interrupted: false,
  };
}

export function keepCell<Measured>({ cells }: { cells: Measured[] }, measured: Measured): void {
  cells.push(measured);
}

/** A cell and its samples: those of one that failed too. */
export interface Sampled<Measured, Sample> {
  cell: Measured;
  samples: Sample[];
}

export function keepSampled<Measured>(
  { cells }: { cells: Measured[] },
  { cell }: Pick<Sampled<Measured, never>, "cell">,
): void {
  cells.push(cell);
}

/** samples.csv: what was planned of a cell, and its samples. */
export function samplesFile<Plan extends object>(
  measured: Sampled<Cell<Plan, unknown>, object>[],
): Record<string, string> {
  const lines = measured.map(({ cell, samples }) => {
    const { postgres: _postgres, figures: _figures, notRun: _notRun, error: _error, ...plan } = cell;
    return { ...plan, samples };
  });
  return { "samples.csv": samplesCsv(lines) };
}

/** Whether something has no figures although it was run. */
export const someFailed = ({ cells }: { cells: { error: string | null }[] }): boolean =>
  cells.some(({ error }) => error !== null);

/** All repeats of one cell: the figures of those that have them, and why the others have none. */
export interface FiguresRow<Figures> extends MeasuredRow {
  measured: Figures[];
}

/** Null without any cell. */
export function rowOf<Figures>(
  cells: { figures: Figures | null; error: string | null; notRun: string | null }[],
): FiguresRow<Figures> | null {
  if (cells.length === 0) return null;
  return {
    measured: cells.flatMap(({ figures }) => figures ?? []),
    errors: cells.flatMap(({ error }) => error ?? []),
    notRun: cells.flatMap(({ notRun }) => notRun ?? []),
  };
}

/** Within each repeat: a figure of one over that of the other. */
export function ratioOf<Figures>(
  numerators: { repeat: number; figures: Figures | null }[],
  denominators: { repeat: number; figures: Figures | null }[],
  figure: (figures: Figures) => number | null | undefined,
): Spread | null {
  const value = (figures: Figures | null | undefined): number | null =>
    figures === null || figures === undefined ? null : (figure(figures) ?? null);
  return spreadOf(
    denominators.map(({ repeat, figures }) =>
      quotient(value(numerators.find((cell) => cell.repeat === repeat)?.figures), value(figures)),
    ),
  );
}

/** How much is done with a second of CPU, of servers and clients together: it depends less on what else the machine does than a rate. */
export function messagesPerCpuSecond({
  serverCpuSecondsPerThousand: server,
  clientCpuSecondsPerThousand: client,
}: {
  serverCpuSecondsPerThousand: number | null;
  clientCpuSecondsPerThousand: number;
}): number | null {
  return server === null ? null : quotient(1000, server + client);
}

/** Every system in each repeat; who comes first changes from repeat to repeat. */
export function systemsInTurn({ systems, repeat }: { systems: string[]; repeat: number }): SystemPlan[] {
  return Array.from({ length: repeat }, (_, n) =>
    turned(systems, n).map((system) => ({ system, repeat: n + 1 })),
  ).flat();
}

/** Measures one cell. Throws when it is stopped; any other failure is the cell's. */
export async function measuredCell<Plan, Figures, Settings>(
  plan: Plan,
  { server, signal }: StepContext<Settings>,
  measure: () => Promise<Figures>,
): Promise<Cell<Plan, Figures>> {
  const cell = { ...plan, postgres: server.version, figures: null, notRun: null, error: null };
  try {
    return { ...cell, figures: await measure() };
  } catch (error) {
    signal.throwIfAborted();
    return { ...cell, ...whyNot(error) };
  }
}

/** Nothing for the first. */
export const repeatText = (repeat: number): string => (repeat > 1 ? `, repeat ${repeat}` : "");

/** The figures of a cell in a few words, or why there are none. */
export function outcomeText<Figures>(
  { figures, notRun, error }: { figures: Figures | null; notRun: string | null; error: string | null },
  text: (figures: Figures) => string,
): string {
  if (figures !== null) return text(figures);
  return notRun === null ? `error: ${error}` : `not run, because ${notRun}`;
}

/** The same in a circle from another one on: who comes first changes from repeat to repeat. */
export function turned<T>(all: T[], by: number): T[] {
  const first = all.length === 0 ? 0 : by % all.length;
  return [...all.slice(first), ...all.slice(0, first)];
}
