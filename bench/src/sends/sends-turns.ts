import type { SendsCell, SendsFigures, SendsPlan } from "./sends-results.ts";
import type { SendsSettings } from "./sends-settings.ts";
import type { Server } from "../server.ts";
import { inTurn } from "../scenario/in-turn.ts";
import { openWork, type SendsWork } from "./sends-cell.ts";

/** Measures the cells of one load, in short rounds in turn. Throws when it is stopped. */
export async function measureInTurn(
  server: Server,
  plans: SendsPlan[],
  settings: SendsSettings,
  signal: AbortSignal,
): Promise<SendsCell[]> {
  const { seconds, roundSeconds, warmupSeconds } = settings;
  const rounds = Math.max(1, Math.round(seconds / roundSeconds));
  const cells = await inTurn<SendsPlan, SendsWork, SendsFigures>(
    plans,
    {
      open: (plan) => openWork(server, plan, settings),
      opened: () => server.checkpoint(),
      warmUp: (work) => work.round(warmupSeconds, false, signal),
      rounds,
      round: (work) => work.round(seconds / rounds, true, signal),
      figures: (work) => work.figures(),
    },
    signal,
  );
  return cells.map((cell) => ({ ...cell, postgres: server.version }));
}
