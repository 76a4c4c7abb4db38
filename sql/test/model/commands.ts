import * as fc from "fast-check";

export const consumers = ["c", "d", "stream"] as const;

/** How one message of a batch is settled; by settle the others are acked. */
const settleOne = [
  "ack part",
  "nack now",
  "nack",
  "nack far",
  "snooze now",
  "snooze",
  "snooze far",
  "bury",
  "settle: snooze",
  "settle: bury",
  "release",
] as const;
export type SettleOne = (typeof settleOne)[number];

export type Command =
  | { do: "send"; messages: number }
  | { do: "receive"; consumer: number; max: number; doomed: boolean }
  | { do: "ack"; batch: number }
  | { do: SettleOne; batch: number; message: number }
  | { do: "maintain" };

const number = fc.nat(20);
/** Any command; a batch or a message is one of those there are, counted round. */
export const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant("send" as const), messages: fc.integer({ min: 1, max: 8 }) }) },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant("receive" as const),
      consumer: fc.nat(consumers.length - 1),
      max: fc.integer({ min: 1, max: 10 }),
      doomed: fc.boolean(),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("ack" as const), batch: number }) },
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constantFrom(...settleOne), batch: number, message: number }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("maintain" as const) }) },
);

/** $1: the batch, $2: a list of one message. */
export const callOf: Record<SettleOne, string> = {
  "ack part": "ack($1, $2::bigint[])",
  "nack now": "nack(batch_id => $1, message_ids => $2::bigint[], retry_after => '0 s')",
  nack: "nack(batch_id => $1, message_ids => $2::bigint[], retry_after => '1 ms')",
  "nack far": "nack(batch_id => $1, message_ids => $2::bigint[], retry_after => '1 day')",
  "snooze now": "snooze($1, $2::bigint[], '0 s')",
  snooze: "snooze($1, $2::bigint[], '1 ms')",
  "snooze far": "snooze($1, $2::bigint[], '1 day')",
  bury: "bury($1, $2::bigint[])",
  "settle: snooze": "settle($1, snooze_ids => $2, snooze_after => '{1 ms}')",
  "settle: bury": "settle($1, dead_ids => $2)",
  release: "settle($1, release_ids => $2)",
};

export type When = "now" | "soon" | "far";

export function whenOf(how: SettleOne): When {
  if (how.endsWith("now")) return "now";
  return how.endsWith("far") ? "far" : "soon";
}
