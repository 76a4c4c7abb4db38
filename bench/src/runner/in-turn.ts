import { closing, whyNot } from "./failure.ts";

/** How the trials of one load are measured in turn. */
export interface Turns<Plan, Work, Figures> {
  open(plan: Plan): Promise<{ work: Work; close(): Promise<void> }>;
  /** Once all are open. */
  opened?(): Promise<void>;
  warmUp(work: Work): Promise<void>;
  rounds: number;
  round(work: Work): Promise<void>;
  figures(work: Work): Promise<Figures>;
}

/** A trial: its figures, or why there are none. */
export type Measured<Plan, Figures> = Plan & { figures: Figures | null; skipped: string | null; error: string | null };

interface Running<Plan, Work, Figures> {
  plan: Plan;
  opened?: { work: Work; close(): Promise<void> };
  figures: Figures | null;
  /** Null as long as nothing has failed. */
  failure: ReturnType<typeof whyNot> | null;
}

/**
 * Measures trials in short rounds in turn: what else the machine does meets all of them. A trial that fails is left out of the rounds that
 * follow. Throws when it is stopped.
 */
export async function inTurn<Plan extends object, Work, Figures>(
  plans: Plan[],
  turns: Turns<Plan, Work, Figures>,
  signal: AbortSignal,
): Promise<Measured<Plan, Figures>[]> {
  type Trial = Running<Plan, Work, Figures>;
  const trials: Trial[] = plans.map((plan) => ({ plan, figures: null, failure: null }));
  const attempt = async (trial: Trial, act: () => Promise<unknown>): Promise<void> => {
    try {
      await act();
    } catch (error) {
      trial.failure = whyNot(error);
    }
  };
  const each = async (act: (work: Work, trial: Trial) => Promise<unknown>): Promise<void> => {
    for (const trial of trials) {
      signal.throwIfAborted();
      const { opened, failure } = trial;
      if (opened !== undefined && failure === null) await attempt(trial, () => act(opened.work, trial));
    }
    signal.throwIfAborted();
  };
  try {
    for (const trial of trials) await attempt(trial, async () => (trial.opened = await turns.open(trial.plan)));
    await turns.opened?.();
    await each((work) => turns.warmUp(work));
    for (let n = 0; n < turns.rounds; n++) await each((work) => turns.round(work));
    await each(async (work, trial) => (trial.figures = await turns.figures(work)));
    return trials.map(({ plan, figures, failure }) => ({ ...plan, figures, skipped: null, error: null, ...failure }));
  } finally {
    await closing(
      ...trials.map(
        ({ opened }) =>
          async () =>
            opened?.close(),
      ),
    )();
  }
}
