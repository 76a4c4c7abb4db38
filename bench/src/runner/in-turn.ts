import { closing, whyNot } from "./failure.ts";

/** How the cells of one load are measured in turn. */
export interface Turns<Plan, Work, Figures> {
  open(plan: Plan): Promise<{ work: Work; close(): Promise<void> }>;
  /** Once all are open. */
  opened?(): Promise<void>;
  warmUp(work: Work): Promise<void>;
  rounds: number;
  round(work: Work): Promise<void>;
  figures(work: Work): Promise<Figures>;
}

/** A cell: its figures, or why there are none. */
export type Measured<Plan, Figures> = Plan & { figures: Figures | null; notRun: string | null; error: string | null };

interface Running<Plan, Work, Figures> {
  plan: Plan;
  opened?: { work: Work; close(): Promise<void> };
  figures: Figures | null;
  /** Null as long as nothing has failed. */
  failure: ReturnType<typeof whyNot> | null;
}

/**
 * Measures cells in short rounds in turn: what else the machine does meets all of them. A cell that fails is left out of the rounds that
 * follow. Throws when it is stopped.
 */
export async function inTurn<Plan extends object, Work, Figures>(
  plans: Plan[],
  turns: Turns<Plan, Work, Figures>,
  signal: AbortSignal,
): Promise<Measured<Plan, Figures>[]> {
  type Cell = Running<Plan, Work, Figures>;
  const cells: Cell[] = plans.map((plan) => ({ plan, figures: null, failure: null }));
  const attempt = async (cell: Cell, act: () => Promise<unknown>): Promise<void> => {
    try {
      await act();
    } catch (error) {
      cell.failure = whyNot(error);
    }
  };
  const each = async (act: (work: Work, cell: Cell) => Promise<unknown>): Promise<void> => {
    for (const cell of cells) {
      signal.throwIfAborted();
      const { opened, failure } = cell;
      if (opened !== undefined && failure === null) await attempt(cell, () => act(opened.work, cell));
    }
    signal.throwIfAborted();
  };
  try {
    for (const cell of cells) await attempt(cell, async () => (cell.opened = await turns.open(cell.plan)));
    await turns.opened?.();
    await each((work) => turns.warmUp(work));
    for (let n = 0; n < turns.rounds; n++) await each((work) => turns.round(work));
    await each(async (work, cell) => (cell.figures = await turns.figures(work)));
    return cells.map(({ plan, figures, failure }) => ({ ...plan, figures, notRun: null, error: null, ...failure }));
  } finally {
    await closing(
      ...cells.map(
        ({ opened }) =>
          async () =>
            opened?.close(),
      ),
    )();
  }
}
