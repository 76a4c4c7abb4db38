import { command, type Flags } from "../command.ts";
import { connect, connectionConfig, withClient } from "../connection.ts";
import { flag } from "../options.ts";
import { UsageError } from "../output/failure.ts";
import { printLine } from "../output/print.ts";

interface DoctorFlags extends Flags {
  olderThan: number;
  lag: number;
  strict?: true;
  ignore: string[];
}

export const doctorCommand = command("doctor", {
  description: "Find problems of queues, the server and the xmin horizon, with the statements that fix them.",
  help: `
Checks the schema and its version, the rights of the role, maintenance, locks that Pgque's sessions hold for long, rotation and
the space that it cannot reclaim, consumers, dead letters, the xmin horizon, settings, and whether notifications arrive. It
changes nothing. Each finding comes with the reason why it matters and the statement that fixes it.

It needs the role SCHEMA_viewer, and pg_read_all_stats to see the sessions of other roles.

A problem needs action now, a warning may need it later. At ten times the warning threshold a warning becomes a problem. Advice
is for a server that is in order, and changes no exit code.

--ignore leaves out: rights, maintenance, locks, rotation, consumers, dead-letters, horizon, settings, role-defaults,
notifications.

Exit codes: 0 no problem; 1 a problem, with --strict a warning too, or no connection; 2 wrong usage.

Examples:
  pgque doctor
  pgque doctor --strict                        for a deployment that is to be clean
  pgque doctor --strict --ignore dead-letters  where somebody looks after these in another way
  pgque doctor --older-than 10m --lag 1h       where long reports and a night's backlog are normal
  pgque doctor --json | jq '.checks[] | select(.severity != "ok")'`,
  options: [
    flag("--older-than <duration>", "a transaction that holds the horizon for so long is a warning", {
      default: 60_000,
    }),
    flag("--lag <duration>", "messages that wait for so long are a warning", { default: 600_000 }),
    flag("--strict", "exit with 1 for warnings too"),
    flag("--ignore <check>", "leave this check out (repeatable)", {
      read: (name: string, before: string[]) => [...before, name],
      default: [] as string[],
    }),
  ],
  json: "print JSON",
  async run(flags: DoctorFlags) {
    const [{ quoteIdentifier }, { examine, ignorable, worstOf }, { jsonReport, textReport }] = await Promise.all([
      import("@pgque/sql"),
      import("../doctor/examine.ts"),
      import("../doctor/report.ts"),
    ]);
    const unknown = flags.ignore.find((name) => !ignorable.includes(name));
    if (unknown !== undefined) {
      throw new UsageError(`expected --ignore to name one of ${ignorable.join(", ")}, got: ${JSON.stringify(unknown)}`);
    }
    const findings = await withClient(flags, async (client) =>
      examine(
        {
          client,
          connect: () => connect(connectionConfig(flags)),
          schema: flags.schema,
          quoted: await quoteIdentifier(client, flags.schema),
          olderThanMs: flags.olderThan,
          lagMs: flags.lag,
        },
        flags.ignore,
      ),
    );
    await printLine(flags.json ? jsonReport(findings, flags.ignore) : textReport(findings, flags.ignore));
    const worst = worstOf(findings);
    process.exitCode = worst === "problem" || (worst === "warning" && flags.strict) ? 1 : 0;
  },
});
