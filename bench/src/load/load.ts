import type { Latencies } from "../measure/histogram.ts";
import type { Consumers, Send } from "../adapters/adapter.ts";
import type { Tally } from "./tally.ts";

/** Everything that sends and receives in one cell. */
export interface Load {
  send: Send[];
  consumers: Consumers;
  tally: Tally;
  payloadBytes: number;
  /** Messages in one send. */
  sendBatch: number;
  idlePollMs: number;
  /** How late the harness itself was. */
  lateness: Latencies;
}

/** How long one call took, as tinybench has it; null where it did not drive. */
export interface CallTimes {
  calls: number;
  meanMs: number;
  p50Ms: number;
  p99Ms: number;
}

export interface DriveResult {
  send: CallTimes | null;
  receiveAndFinish: CallTimes | null;
}

/** Runs a load for so many seconds, whose consumers are started if they run themselves. Returns when what it called itself has returned. */
export type Drive = (load: Load, seconds: number, signal: AbortSignal) => Promise<DriveResult>;

/** Consumers that run themselves are started before `work` and stopped after it; the others are left to `work`. */
export async function withPushed<T>(consumers: Consumers, work: () => Promise<T>): Promise<T> {
  if (consumers.kind === "pulled") return work();
  await consumers.start();
  try {
    return await work();
  } finally {
    await consumers.stop();
  }
}
