import type { Headers } from "../receive/message.ts";
import { sendChecks } from "../send/send-options.ts";
import { catchUp, type CatchUp } from "./catch-up.ts";
import { boolean, callChecks, text, type CallOptions, type Check } from "../validation/options.ts";

/** When a schedule means, and what it sends beside its payload. */
export interface ScheduleOptions extends CallOptions {
  /** Whose days and hours the expression means: a name of pg_timezone_names, "Europe/Berlin". Default: UTC. */
  timeZone?: string | undefined;
  /** Of the messages; one of its types on a queue that names them. Default: `default`. */
  type?: string | undefined;
  /** Sent with every message, beside its own `schedule` and `run_at`. Default: none. */
  headers?: Headers | undefined;
  /** On a queue with `priorities`. Default: the queue's, or 0. */
  priority?: number | undefined;
  /** On a queue with `partitions`. Default: none. */
  key?: string | undefined;
  /** What becomes of the times that nobody ran because no worker ran: `"skip"`, `"once"` (the latest), `{ all: n }` (the latest n). Default: `"once"`. */
  catchUp?: CatchUp | undefined;
  /** False: it is kept, and does not run. Default: as it was; true for a new one. */
  enabled?: boolean | undefined;
}

/** A message that is sent at the times that a cron expression names. */
export interface Schedule {
  name: string;
  queue: string;
  cron: string;
  timeZone: string;
  type: string;
  /** The JSON that is sent; the text when it is none. */
  payload: unknown;
  headers: Headers;
  priority: number | null;
  key: string | null;
  /** What becomes of the times that nobody ran; `{ all: 1 }` reads `"once"`, which is the same. */
  catchUp: CatchUp;
  enabled: boolean;
  createdAt: Date;
  changedAt: Date;
  /** The latest of its times that was run; null when none was. */
  lastRunAt: Date | null;
}

export const scheduleChecks: Record<keyof ScheduleOptions, Check> = {
  timeZone: text,
  type: text,
  headers: sendChecks.headers,
  priority: sendChecks.priority,
  key: sendChecks.key,
  catchUp,
  enabled: boolean,
  ...callChecks,
};
