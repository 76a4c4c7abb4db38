import type { LatencySummary } from "../measure/histogram.ts";
import type { Group } from "../adapters/adapter.ts";
import type { SendsSettings } from "./sends-settings.ts";
import type { Cell, CellResults } from "../scenario/cells.ts";

/** One sender under one load, before it is measured. */
export interface SendsPlan {
  group: Group;
  system: string;
  /** The least bytes of a payload's JSON. */
  payloadBytes: number;
  /** Messages in one call. */
  messages: number;
  connections: number;
  /** From 1. */
  repeat: number;
}

/** What was measured. Null: could not be. */
export interface SendsFigures {
  messagesPerSecond: number;
  /** Bytes of the JSON of one payload, on average. */
  payloadBytesMean: number;
  seconds: number;
  sent: number;
  /** Of the server that stores the messages: all PostgreSQL's processes, or Redis. */
  serverCpuSecondsPerThousand: number | null;
  /** Of this process, which does nothing but send. */
  clientCpuSecondsPerThousand: number;
  /** Of whatever else ran on the machine meanwhile. */
  otherCpuSeconds: number | null;
  /** How much of the time the client's one thread was busy, 0 to 1. */
  clientBusy: number;
  /** Null for a sender to another server. */
  walBytesPerMessage: number | null;
  /** How long one call took. */
  callMs: LatencySummary | null;
}

export type SendsCell = Cell<SendsPlan, SendsFigures>;

export type SendsResults = CellResults<SendsSettings, SendsCell>;
