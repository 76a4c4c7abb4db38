import type { StandardSchemaV1 } from "@standard-schema/spec";
import { boolean, integer, name, standardSchema } from "../options/checks.ts";
import type { CallOptions, OptionTable, OptionsOf } from "../options/option.ts";
import { receiveOptions } from "../receive/receive-options.ts";
import { commonOptions } from "../send/send-options.ts";

const dayMs = 86_400_000;

/** The options of `call`, beside those of `send`. */
export const replyOptions = {
  ...commonOptions,
  /** How long to wait for the result, in milliseconds. 1 to 86400000 (a day). Default: 30000. */
  waitMs: { check: integer(1, dayMs), default: 30_000, help: "how long to wait for the result" },
  /** The consumer whose result is waited for. Default: `default`. */
  consumer: { check: name, default: receiveOptions.consumer.default, help: "whose result is waited for" },
  /** What the result must be: of zod, valibot, arktype, or any other Standard Schema. Default: anything. */
  result: {
    check: standardSchema,
    absent: "anything",
    help: "a schema for the result",
  },
  /** Whether the message is cancelled when its result has not come in time, on a queue with `allowCancel`. It takes a second more at most. Default: false. */
  cancelOnTimeout: { check: boolean, default: false, help: "cancel the message when its result has not come in time" },
} satisfies OptionTable;

/** How a message is sent whose result is waited for. */
export interface ReplyOptions extends OptionsOf<typeof replyOptions>, CallOptions {}

/** What the schema that was given makes of a result; unknown without one. */
export type ReplyOf<Options> = Options extends { result: infer Schema extends StandardSchemaV1 }
  ? StandardSchemaV1.InferOutput<Schema>
  : unknown;
