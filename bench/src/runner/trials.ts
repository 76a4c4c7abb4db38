import { whyNot } from "./failure.ts";
import { quotient, spreadOf } from "../measure/statistics.ts";
import { samplesCsv } from "../report/files.ts";
import { reportedSettings, type ReportedSettings, type ResultsHead, type Spread } from "../report/results.ts";
import type { MeasuredRow } from "../report/table.ts";
import type { Server, ServerSettings } from "./server.ts";
import type { StepContext } from "./scenario.ts";

/** A trial that was planned: its figures, or why there are none. */
export type Trial<Plan, Figures> = Plan & {
  /** Of the server, as in "17.10". */
  postgres: string;
  /** Null when there is an error, or it was not run. */
  figures: Figures | null;
  /** Why it was not run: something that it needs is not installed. */
  skipped: string | null;
  /** Why there are no figures though it was run. */
  error: string | null;
};

/** One system, before it is measured. */
export interface SystemPlan {
  system: string;
  /** From 1. */
  repeat: number;
}

/** The results of a scenario of single trials. */
export interface TrialResults<Settings, Measured> extends ResultsHead {
  settings: ReportedSettings<Settings>;
  trials: Measured[];
  /** True when it was stopped before all trials were run. */
  interrupted: boolean;
}

/** Before anything is measured. */
export function emptyResults<
  Settings extends ServerSettings & { quick: boolean; resultsFolder: string | null },
  Measured,
>(head: ResultsHead, settings: Settings, server: Server): TrialResults<Settings, Measured> {
  return {
    ...head,
    settings: reportedSettings(settings, settings.quick, server),
    trials: [],
    interrupted: false,
  };
}

export function keepTrial<Measured>({ trials }: { trials: Measured[] }, measured: Measured): void {
  trials.push(measured);
}

/** A trial and its samples: those of one that failed too. */
export interface Sampled<Measured, Sample> {
  trial: Measured;
  samples: Sample[];
}

export function keepSampled<Measured>(
  { trials }: { trials: Measured[] },
  { trial }: Pick<Sampled<Measured, never>, "trial">,
): void {
  trials.push(trial);
}

/** samples.csv: what was planned of a trial, and its samples. */
export function samplesFile<Plan extends object>(
  measured: Sampled<Trial<Plan, unknown>, object>[],
): Record<string, string> {
  const lines = measured.map(({ trial, samples }) => {
    const { postgres: _postgres, figures: _figures, skipped: _notRun, error: _error, ...plan } = trial;
    return { ...plan, samples };
  });
  return { "samples.csv": samplesCsv(lines) };
}

/** Whether something has no figures although it was run. */
export const someFailed = ({ trials }: { trials: { error: string | null }[] }): boolean =>
  trials.some(({ error }) => error !== null);

/** All repeats of one trial: the figures of those that have them, and why the others have none. */
export interface FiguresRow<Figures> extends MeasuredRow {
  measured: Figures[];
}

/** Null without any trial. */
export function rowOf<Figures>(
  trials: { figures: Figures | null; error: string | null; skipped: string | null }[],
): FiguresRow<Figures> | null {
  if (trials.length === 0) return null;
  return {
    measured: trials.flatMap(({ figures }) => figures ?? []),
    errors: trials.flatMap(({ error }) => error ?? []),
    skipped: trials.flatMap(({ skipped }) => skipped ?? []),
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
      quotient(value(numerators.find((trial) => trial.repeat === repeat)?.figures), value(figures)),
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
    rotate(systems, n).map((system) => ({ system, repeat: n + 1 })),
  ).flat();
}

/** Measures one trial. Throws when it is stopped; any other failure is the trial's. */
export async function measuredTrial<Plan, Figures, Settings>(
  plan: Plan,
  { server, signal }: StepContext<Settings>,
  measure: () => Promise<Figures>,
): Promise<Trial<Plan, Figures>> {
  const trial = { ...plan, postgres: server.version, figures: null, skipped: null, error: null };
  try {
    return { ...trial, figures: await measure() };
  } catch (error) {
    signal.throwIfAborted();
    return { ...trial, ...whyNot(error) };
  }
}

/** Nothing for the first. */
export const repeatText = (repeat: number): string => (repeat > 1 ? `, repeat ${repeat}` : "");

/** The figures of a trial in a few words, or why there are none. */
export function outcomeText<Figures>(
  { figures, skipped, error }: { figures: Figures | null; skipped: string | null; error: string | null },
  text: (figures: Figures) => string,
): string {
  if (figures !== null) return text(figures);
  return skipped === null ? `error: ${error}` : `skipped, because ${skipped}`;
}

/** The same in a circle from another one on: who comes first changes from repeat to repeat. */
export function rotate<T>(all: T[], by: number): T[] {
  const first = all.length === 0 ? 0 : by % all.length;
  return [...all.slice(first), ...all.slice(0, first)];
}
