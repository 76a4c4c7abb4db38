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

interface Running<Plan, Work> {
  plan: Plan;
  work: Work | null;
  close: () => Promise<void>;
  /** In an array: whatever was thrown. */
  failure: [unknown] | null;
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
  const running: Running<Plan, Work>[] = [];
  const each = (act: (work: Work, cell: Running<Plan, Work>) => Promise<unknown>): Promise<void> =>
    eachInTurn(running, signal, act);
  try {
    for (const plan of plans) running.push(await start(plan, turns));
    await turns.opened?.();
    await each((work) => turns.warmUp(work));
    for (let n = 0; n < turns.rounds; n++) await each((work) => turns.round(work));
    const figures = new Map<Running<Plan, Work>, Figures>();
    await each(async (work, cell) => figures.set(cell, await turns.figures(work)));
    return running.map((cell) => ({
      ...cell.plan,
      ...(cell.failure === null ? { notRun: null, error: null } : whyNot(cell.failure[0])),
      figures: figures.get(cell) ?? null,
    }));
  } finally {
    await closing(...running.map(({ close }) => close))();
  }
}

async function start<Plan, Work, Figures>(plan: Plan, turns: Turns<Plan, Work, Figures>): Promise<Running<Plan, Work>> {
  try {
    return { plan, ...(await turns.open(plan)), failure: null };
  } catch (error) {
    return { plan, work: null, close: async () => undefined, failure: [error] };
  }
}

async function eachInTurn<Plan, Work>(
  running: Running<Plan, Work>[],
  signal: AbortSignal,
  act: (work: Work, cell: Running<Plan, Work>) => Promise<unknown>,
): Promise<void> {
  for (const cell of running) {
    signal.throwIfAborted();
    if (cell.work === null || cell.failure !== null) continue;
    try {
      await act(cell.work, cell);
    } catch (error) {
      cell.failure = [error];
    }
  }
  signal.throwIfAborted();
}
