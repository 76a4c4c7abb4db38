import { boolean, callChecks, integer, name, text, type CallOptions, type Check } from "../validation/options.ts";

/** For whom, how many, and for how long. */
export interface ReceiveOptions extends CallOptions {
  /** Which consumer receives. It must be subscribed. Default: `default`. */
  consumer?: string | undefined;
  /** At most this many messages. 1 to 100000. Default: 100. */
  max?: number | undefined;
  /**
   * No more once the payloads, as UTF-8, have so many bytes: less than that, and one message. 1 to 2147483647. What an ordered or exclusive consumer
   * is handed again is not cut. Default, and the most that has an effect: 268435456 (256 MiB).
   */
  maxBytes?: number | undefined;
  /** Whose heartbeats keep the batch: see `pgque.runtime.heartbeat`. Default: a name of the batch's own, which `extend` keeps alive. */
  worker?: string | undefined;
  /** Whether `runtime.settler().tellBegun` is called before a message with `crashes` is handled: a lost lease then uses no attempts. Default: false. */
  tellsBegun?: boolean | undefined;
  /** How long the messages are this batch's alone, in milliseconds. 1 to 604800000 (7 days). Default: 30000. */
  leaseMs?: number | undefined;
}

export const receiveChecks: Record<keyof ReceiveOptions, Check> = {
  ...callChecks,
  consumer: name,
  max: integer(1, 100_000),
  maxBytes: integer(1, 2 ** 31 - 1),
  worker: text,
  tellsBegun: boolean,
  leaseMs: integer(1, 7 * 86_400_000),
};

export const receiveDefaults = { max: 100, leaseMs: 30_000 };
