import { Latencies, type LatencySummary } from "../../measure/histogram.ts";
import { Ticker, nowMs } from "../../measure/ticker.ts";
import { serve } from "../../runner/serve.ts";
import { latencySystems, named } from "../../adapters/registry.ts";
import type { Numbered } from "../../load/messages.ts";
import { Round, type Load } from "./round.ts";
import type { OpenWorker } from "../../adapters/adapter.ts";

/** What one process measured in all rounds that counted. */
export interface LatencyFigures {
  /** From when a message was due to be sent until its handler had it. */
  latencyMs: LatencySummary | null;
  /** How late this process itself began to send. */
  latenessMs: LatencySummary | null;
  messages: number;
}

const latencies = new Latencies();
const lateness = new Latencies();
const ticker = new Ticker();
let messages = 0;
let worker: OpenWorker;
let round: Round | undefined;
/** What came when everything had arrived already. */
let stray: Error | undefined;

const methods = {
  async open({ system, url }: { system: string; url: string }): Promise<void> {
    const handle = (message: Numbered): unknown => {
      if (round !== undefined) return round.handle(message, nowMs());
      stray ??= new Error(`expected no message between rounds, number ${message.n} came again`);
      return undefined;
    };
    worker = await named(latencySystems, system).connect(url, handle);
    await worker.start();
  },
  /** Resolves when every message has arrived; what does not count only warms up. */
  async round({ counts, ...load }: Load & { counts: boolean }): Promise<void> {
    round = new Round(load, counts ? { latencies, lateness } : null);
    await round.run(ticker, (message) => worker.send(message));
    round = undefined;
    if (counts) messages += load.messages;
  },
  async finish(): Promise<LatencyFigures> {
    await worker.stop();
    await ticker.stop();
    if (stray !== undefined) throw stray;
    return { latencyMs: latencies.summary(), latenessMs: lateness.summary(), messages };
  },
};

export type LatencyMethods = typeof methods;

serve(methods);
