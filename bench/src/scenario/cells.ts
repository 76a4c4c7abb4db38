import { turned } from "./turned.ts";
import { whyNot } from "./not-run.ts";
import type { StepContext } from "./scenario.ts";

/** A cell that was planned: its figures, or why there are none. */
export type Cell<Plan, Figures> = Plan & {
  postgres: string;
  figures: Figures | null;
  notRun: string | null;
  error: string | null;
};

/** Every system in each repeat; who comes first changes from repeat to repeat. */
export function systemsInTurn({ systems, repeat }: { systems: string[]; repeat: number }) {
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
