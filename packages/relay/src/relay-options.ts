import { expecting, integer, name, oneOf, type OptionsOf, type OptionTable } from "@pgque/client/options";

/** What happens to a relay, for a log. */
export type RelayEvent =
  /** The destination cannot be reached or does not confirm; it is tried again after `retryMs`. */
  | { kind: "outage"; error: unknown; attempt: number; retryMs: number }
  /** It confirms again. */
  | { kind: "recovered"; attempt: number }
  /** It refuses a message for good. */
  | { kind: "refused"; id: string; reason: string }
  /** The database failed; it is tried again after `retryMs`. */
  | { kind: "database"; error: unknown; retryMs: number };

const listener = expecting<(event: RelayEvent) => void>("a function", (value) => typeof value === "function");

/** The options of a relay. */
export const relayOptions = {
  /**
   * What is written of a message. `raw`: the payload as it is; id, type and time are headers `pgque-id`, `pgque-type` and `pgque-time`. `cloudevents`: an
   * event of CloudEvents 1.0 in its JSON format, with the payload as `data`. `debezium`: the payload as it is, and headers `id` and `type`, as
   * Debezium's outbox event router writes them. Default: `raw`.
   */
  envelope: {
    check: oneOf("raw", "cloudevents", "debezium"),
    default: "raw",
    help: "what is written of a message: its payload alone, or an event",
  },
  /**
   * What becomes of a message that the destination refuses for good. `park`: it is a dead letter, and can be sent again. `skip`: it is passed over.
   * `stop`: the relay ends with an error; started again, it begins with that message. Default: `park`.
   */
  onRefused: {
    check: oneOf("park", "skip", "stop"),
    default: "park",
    help: "what becomes of a message that the destination refuses for good",
  },
  /** At most so many messages in a write. 1 to 100000. Default: 1000. */
  batchSize: { check: integer(1, 100_000), default: 1000, help: "at most so many messages in a write" },
  /** No more in a write once their payloads have so many bytes. 1 to 2147483647. Default: 8388608 (8 MiB). */
  batchBytes: {
    check: integer(1, 2 ** 31 - 1),
    default: 8 * 1024 ** 2,
    help: "no more in a write once their payloads have so many bytes",
  },
  /** Longest wait between two looks at a queue that has nothing, in milliseconds. 10 to 60000. Default: 250. */
  pollMaxMs: { check: integer(10, 60_000), default: 250, help: "longest wait after a receive that found nothing" },
  /** Longest wait between two tries during an outage, in milliseconds. 100 to 3600000. Default: 30000. */
  retryMaxMs: { check: integer(100, 3_600_000), default: 30_000, help: "longest wait between two tries of an outage" },
} satisfies OptionTable;

/** How a queue is relayed. */
export interface RelayOptions extends OptionsOf<typeof relayOptions> {
  /** Names the relay: its consumer of the queue, and what the destination remembers. As a consumer is named. */
  name: string;
  /** Told of what happens. Not waited for. Default: nobody. */
  onEvent?: ((event: RelayEvent) => void) | undefined;
}

/** All that `relay` can be given. */
export const relayChecks = { ...relayOptions, name, onEvent: listener };
