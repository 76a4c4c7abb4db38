import { defaultSchema } from "@pgque/sql";
import { boolean, callable, integer, text } from "./checks.ts";
import type { OptionTable, OptionsOf } from "./option.ts";
import type { TelemetryFactory } from "../types.ts";

/** The options of `new Pgque`. */
export const clientOptions = {
  /** Name of the schema that `pgque install` was given. Default: `pgque`. */
  schema: { check: text, default: defaultSchema, help: "schema that Pgque is installed in" },
  /**
   * Prepare each statement once per connection. The server parses and plans it once then, which is half of what a small receive costs.
   * Default: on the connections of a pool that lead directly to the server. Nothing is prepared behind a pooler, which is detected, nor in the
   * caller's transaction. true: everywhere, also behind a pooler that keeps prepared statements. false: nowhere.
   */
  prepare: {
    check: boolean,
    absent: "on connections of a pool that lead directly to the server",
    help: "prepare each statement once per connection",
  },
  /**
   * How long a call is tried again that failed for a reason that passes, in milliseconds: a connection that could not be made, a primary that
   * has become a standby, a serialization failure, a deadlock, a lock timeout; and a lost connection where a second call is as good as one (not
   * a send without dedupe key, or with one that counts for less than twice this time). Only calls on a pool, once the database has been
   * reached; never in the caller's transaction. 0: not at all. 0 to 3600000. Default: 5000 (5 s).
   */
  retryForMs: { check: integer(0, 3_600_000), default: 5000, help: "how long a call is tried again" },
  /**
   * How long a call may take in all, waiting for a connection and trying again included, in milliseconds. Then it is cancelled in the database, its
   * connection given up and the call fails: DATABASE_UNREACHABLE when it had no connection, else CONNECTION_LOST. In the caller's transaction it
   * fails alone, and the connection is the caller's to give up. 1 to 86400000 (a day). Default: 60000 (1 min).
   */
  callTimeoutMs: { check: integer(1, 86_400_000), default: 60_000, help: "how long a call may take in all" },
  /**
   * What watches the calls: `openTelemetry()` of `@pgque/client/opentelemetry`, which makes spans and carries their context in the headers of
   * messages. Default: nothing does.
   */
  telemetry: {
    check: callable<TelemetryFactory>("what openTelemetry() returns"),
    absent: "none",
    help: "what watches the calls",
  },
} satisfies OptionTable;

/** Options of `new Pgque`. */
export interface PgqueOptions extends OptionsOf<typeof clientOptions> {}
