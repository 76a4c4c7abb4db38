import { Child } from "../processes/child.ts";
import { inTurn } from "../scenario/in-turn.ts";
import type { Server } from "../server.ts";
import { latencySystems, named } from "../adapters/registry.ts";
import type { LatencyCell, LatencyPlan } from "./latency-results.ts";
import type { LatencySettings } from "./latency-settings.ts";
import type { LatencyFigures, LatencyMethods } from "./process.ts";

/** To warm up: faster than the slowest rates, slower than what any system can do. */
const warmupPerSecond = 50;

interface Work {
  child: Child<LatencyMethods>;
  messagesPerSecond: number;
}

/** Measures the systems at one rate, in rounds in turn: while one has its round the others are idle. Throws when it is stopped. */
export async function measureLatencies(
  server: Server,
  plans: LatencyPlan[],
  settings: LatencySettings,
  signal: AbortSignal,
): Promise<LatencyCell[]> {
  const { seconds, roundSeconds, warmupMessages, handlerMs } = settings;
  const rounds = Math.max(1, Math.round(seconds / roundSeconds));
  const cells = await inTurn<LatencyPlan, Work, LatencyFigures>(
    plans,
    {
      open: (plan) => open(server, plan, settings),
      opened: () => server.checkpoint(),
      warmUp: ({ child }) =>
        child.call("round", {
          counts: false,
          messagesPerSecond: warmupPerSecond,
          messages: warmupMessages,
          handlerMs: 0,
        }),
      rounds,
      round: ({ child, messagesPerSecond }) => {
        const messages = Math.max(1, Math.round((messagesPerSecond * seconds) / rounds));
        return child.call("round", { counts: true, messagesPerSecond, messages, handlerMs });
      },
      figures: ({ child }) => child.call("finish"),
    },
    signal,
  );
  return cells.map((cell) => ({ ...cell, postgres: server.version }));
}

async function open(
  server: Server,
  { system, messagesPerSecond }: LatencyPlan,
  settings: LatencySettings,
): Promise<{ work: Work; close(): Promise<void> }> {
  const store = await named(latencySystems, system).makeStore({ ...settings, server });
  const child = new Child<LatencyMethods>(new URL("./process.js", import.meta.url));
  const close = async (): Promise<void> => {
    await child.stop();
    await store.close();
  };
  try {
    await child.call("open", { system, url: store.url });
  } catch (error) {
    await close();
    throw error;
  }
  return { work: { child, messagesPerSecond }, close };
}
