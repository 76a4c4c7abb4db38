import { turned } from "../scenario/turned.ts";
import type { ThroughputPlan } from "./throughput-results.ts";
import type { ThroughputSettings } from "./throughput-settings.ts";

/** What is done as fast as it goes, with nothing else going on. */
export interface ThroughputLoad {
  kind: "send" | "receive";
  payloadBytes: number;
  /** Messages in one send and transaction, or the most that one receive returns. */
  perCall: number;
  /** Connections that call at the same time. */
  clients: number;
  /** Messages that are there before a receive is measured, but for those of the warm-up; null for a send. */
  backlog: number | null;
}

/** The client has a whole call in memory, and so has the server. */
const callBytesMax = 64 * 1024 * 1024;
/** On disk it is more, and it is sent anew for every cell. */
const backlogBytesMax = 512 * 1024 * 1024;

type Sizes = Pick<ThroughputSettings, "payloadBytes" | "clients" | "batch" | "messages">;

/** In the order of the tables: one message a transaction, with the smallest payload; then batches, with each. */
export function throughputLoads({ payloadBytes, clients, batch, messages }: Sizes): ThroughputLoad[] {
  const perCall = (bytes: number): number => Math.max(1, Math.min(batch, Math.floor(callBytesMax / bytes)));
  return [
    { kind: "send", payloadBytes: Math.min(...payloadBytes), perCall: 1, clients, backlog: null },
    ...payloadBytes.map((bytes): ThroughputLoad => {
      return { kind: "send", payloadBytes: bytes, perCall: perCall(bytes), clients: 1, backlog: null };
    }),
    ...payloadBytes.map((bytes): ThroughputLoad => {
      const backlog = wholeCalls(Math.min(messages, backlogBytesMax / bytes), perCall(bytes));
      return { kind: "receive", payloadBytes: bytes, perCall: perCall(bytes), clients: 1, backlog };
    }),
  ];
}

/** The systems of one load follow on each other; who comes first changes from repeat to repeat. */
export function throughputPlan(settings: ThroughputSettings): ThroughputPlan[] {
  return Array.from({ length: settings.repeat }, (_, n) => n).flatMap((n) =>
    throughputLoads(settings).flatMap((load) =>
      turned(settings.systems, n).map((system) => ({ system, repeat: n + 1, ...load })),
    ),
  );
}

export function sameLoad(one: ThroughputLoad, other: ThroughputLoad): boolean {
  return (
    one.kind === other.kind &&
    one.payloadBytes === other.payloadBytes &&
    one.perCall === other.perCall &&
    one.clients === other.clients
  );
}

/** The most messages that come in calls of so many, and at least one call. */
function wholeCalls(messages: number, perCall: number): number {
  return Math.max(1, Math.floor(messages / perCall)) * perCall;
}
