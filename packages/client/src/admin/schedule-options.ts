import { boolean, text } from "../options/checks.ts";
import type { CallOptions, OptionTable, OptionsOf } from "../options/option.ts";
import type { Headers } from "../types.ts";
import { sendOptions } from "../send/send-options.ts";
import { catchUp, type CatchUp } from "./catch-up.ts";

/** The options of `schedules.set`. */
export const scheduleOptions = {
  /** Whose days and hours the expression means: a name of pg_timezone_names, "Europe/Berlin". Default: UTC. */
  timeZone: { check: text, default: "UTC", help: "whose days and hours are meant: Europe/Berlin" },
  /** Of the messages; one of its types on a queue that names them. Default: `default`. */
  type: { check: text, default: "default", help: "type of the messages" },
  /** Sent with every message, beside its own `schedule` and `run_at`. Default: none. */
  headers: { check: sendOptions.headers.check, absent: "none", help: "headers of the messages" },
  /** On a queue with `priorities`. 0 to 1023. Default: the queue's, or 0. */
  priority: { check: sendOptions.priority.check, absent: "the queue's, or 0", help: "priority of the messages" },
  /** On a queue with `partitions`. Default: none. */
  key: { check: sendOptions.key.check, absent: "none", help: "key of the messages" },
  /** What becomes of the times that nobody ran because no worker ran: `"skip"`, `"once"` (the latest), `{ all: n }` (the latest n). Default: `"once"`. */
  catchUp: { check: catchUp, default: "once", help: "what becomes of the times at which no worker ran" },
  /** False: it is kept, and does not run. Default: as it was; true for a new one. */
  enabled: { check: boolean, absent: "as it was; true for a new one", help: "whether it runs" },
} satisfies OptionTable;

/** When a schedule means, and what it sends beside its payload. */
export interface ScheduleOptions extends OptionsOf<typeof scheduleOptions>, CallOptions {}

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
