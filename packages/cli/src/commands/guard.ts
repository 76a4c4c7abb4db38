import { InvalidArgumentError } from "commander";
import { command } from "../command.ts";
import { connectionConfig, databaseUrlOption } from "../connection.ts";
import { flag } from "../options.ts";
import { interval } from "../output/duration.ts";
import { lineLogger } from "../output/log.ts";
import { UsageError } from "../output/failure.ts";
import { stopRequested } from "../signals.ts";
import { workerLog } from "../worker/log.ts";

interface Flags {
  databaseUrl?: string;
  follower: string[];
  olderThan: number;
  interval: number;
  grace: number;
  cancel?: true;
  terminate?: true;
  allowUser: string[];
  allowApplication: string[];
  allowQuery: RegExp[];
  includeSuperusers?: true;
  once?: true;
  json?: true;
}

const repeatable = { read: (value: string, before: string[]) => [...before, value], default: [] as string[] };

export const guardCommand = command("guard", {
  description: "Watch for long transactions that hold the xmin horizon, and end them if asked to.",
  help: `
An open transaction holds the xmin horizon. VACUUM then removes no row that has died since, in any table, and queues that update
and delete grow and slow down. Pgque's tables have no such rows; the others of the database do.

Guard watches the transactions of its database on a primary, and of all databases on a standby. It reports those that are too
old, and ends them only if asked to:
  (neither)      reports the planned action
  --cancel       cancels the running statement. This has no effect on a session that is idle in its transaction
  --terminate    cancels, and ends the session if the transaction is still there after --grace

Only transactions with a snapshot or a transaction id count: others hold nothing. Guard leaves alone autovacuum, VACUUM,
replication, other processes of the server, and itself. Superusers' sessions need --include-superusers, and a superuser to end
them. Sessions may be allowed by user, application name, or a regular expression that matches the last query. What is too old
and left alone is logged once, with the reason.

--grace runs from the cancel; for a session that is idle in its transaction, from when guard first saw that it is too old.

The statement that ends a session compares process id, session start and transaction start once more: a new session with the same
process id is safe. A follower's transactions hold the primary's horizon by hot_standby_feedback: name each follower with
--follower. A follower without that setting holds nothing.

Guard needs pg_read_all_stats to see other roles' transactions and pg_signal_backend to end them; without, it exits with 1. It
needs no schema of Pgque.
When a server is unreachable, it tries again after 1 s, doubling to 30 s.

Exit codes: 0 stopped by SIGTERM or SIGINT, or --once and done; 1 a right is missing, or --once and a server could not be reached;
2 wrong usage.

Examples:
  pgque guard                                              warns of transactions older than five minutes
  pgque guard --older-than 15m --cancel --allow-user backup
  pgque guard --older-than 1h --terminate --grace 1m --allow-application pg_dump --allow-query '^copy '
  pgque guard --follower postgres://guard@replica1/app --follower postgres://guard@replica2/app --json
  pgque guard --once --terminate                           for a scheduler: one look, ends those that are too old`,
  options: [
    databaseUrlOption,
    flag("--follower <url>", "a standby to watch too (repeatable)", repeatable),
    flag("--older-than <duration>", "how long a transaction may hold the horizon", { default: 300_000 }),
    flag("--interval <duration>", "how often to look", { read: interval, default: 5000 }),
    flag("--grace <duration>", "between a cancel and a terminate", { default: 10_000 }),
    flag("--cancel", "cancel the statement of what is too old"),
    flag("--terminate", "cancel, then end the session"),
    flag("--allow-user <name>", "leave this role alone (repeatable)", repeatable),
    flag("--allow-application <name>", "leave this application_name alone (repeatable)", repeatable),
    flag("--allow-query <regex>", "leave alone what runs or last ran such a query; case does not matter (repeatable)", {
      read: collectPattern,
      default: [],
    }),
    flag("--include-superusers", "superusers' transactions too"),
    flag("--once", "look once and end"),
  ],
  json: "log as JSON lines",
  database: false,
  async run(flags: Flags) {
    if (flags.cancel && flags.terminate) {
      throw new UsageError("expected --cancel or --terminate, got both. --terminate cancels first");
    }
    const urls = [flags.databaseUrl, ...flags.follower];
    const configs = urls.map((databaseUrl) => connectionConfig(databaseUrl === undefined ? {} : { databaseUrl }));
    const { watch, watchOnce } = await import("../guard/watch.ts");
    const log = flags.json
      ? await workerLog({ logLevel: "info", logFormat: "json" })
      : lineLogger((line) => void process.stdout.write(`${line}\n`));
    const over = new AbortController();
    const watches = configs.map((config) => ({ config, policy: policyOf(flags), intervalMs: flags.interval, log }));
    const stop = (signal: string): void => {
      log.info("stopping", { signal });
      over.abort();
    };
    void stopRequested().then(stop);
    // one that cannot be reached does not keep the others from what they are at
    const ended = await Promise.allSettled(
      watches.map((of) => (flags.once ? watchOnce(of, over.signal) : watch(of, over.signal))),
    );
    for (const each of ended) if (each.status === "rejected") throw each.reason;
  },
});

function policyOf(flags: Flags): import("../guard/policy.ts").Policy {
  return {
    olderThanMs: flags.olderThan,
    signal: flags.terminate ? "terminate" : flags.cancel ? "cancel" : undefined,
    graceMs: flags.grace,
    allowedUsers: flags.allowUser,
    allowedApplications: flags.allowApplication,
    allowedQueries: flags.allowQuery,
    includeSuperusers: flags.includeSuperusers ?? false,
  };
}

function collectPattern(value: string, before: RegExp[]): RegExp[] {
  try {
    return [...before, new RegExp(value, "i")];
  } catch (error) {
    throw new InvalidArgumentError(`expected a regular expression: ${(error as Error).message}.`);
  }
}
