import { boolean, integer, name, text } from "../options/checks.ts";
import type { CallOptions, OptionTable, OptionsOf } from "../options/option.ts";

/** The options of `receive`. */
export const receiveOptions = {
  /** Which consumer receives. It must be subscribed. Default: `default`. */
  consumer: { check: name, default: "default", help: "whose messages" },
  /** At most this many messages. 1 to 100000. Default: 100. */
  max: { check: integer(1, 100_000), default: 100, help: "at most so many messages" },
  /**
   * No more once the payloads, as UTF-8, have so many bytes: less than that, and one message. 1 to 2147483647. What an ordered or exclusive consumer
   * is handed again is not cut. Default, and the most that has an effect: 268435456 (256 MiB).
   */
  maxBytes: {
    check: integer(1, 2 ** 31 - 1),
    default: 268_435_456,
    help: "no more once their payloads have so many bytes",
  },
  /** Whose heartbeats keep the batch: see `pgque.runtime.heartbeat`. Default: a name of the batch's own, which `extend` keeps alive. */
  worker: { check: text, absent: "a name of the batch's own", help: "whose heartbeats keep the batch" },
  /** Whether `runtime.settler().reportStarted` is called before a message with `crashes` is handled: a lost lease then uses no attempts. Default: false. */
  reportsStarted: { check: boolean, default: false, help: "whether the start of a suspect message is reported" },
  /** How long the messages are this batch's alone, in milliseconds. 1 to 604800000 (7 days). Default: 30000 (30 s). */
  leaseMs: { check: integer(1, 7 * 86_400_000), default: 30_000, help: "how long the messages are this batch's alone" },
} satisfies OptionTable;

/** For whom, how many, and for how long. */
export interface ReceiveOptions extends OptionsOf<typeof receiveOptions>, CallOptions {}
