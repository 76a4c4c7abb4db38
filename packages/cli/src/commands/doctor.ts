import { Command, Option } from "commander";
import { connect, connectionConfig, type DatabaseFlags, withClient, withDatabase } from "../connection.ts";
import { duration } from "../output/duration.ts";
import { printLine } from "../output/print.ts";

interface Flags extends DatabaseFlags {
  olderThan: number;
  lag: number;
  json?: true;
  strict?: true;
}

const more = `
Looks at the schema and its version, the rights of the role it connects as, maintenance, who holds a lock of Pgque for long, rotation and what keeps space from being given
back, consumers, dead letters, who holds the xmin horizon, settings that hurt, and whether notifications arrive. Changes nothing. For each
thing it says what it found, why that matters and the statement that fixes it. It needs the role SCHEMA_viewer, and pg_read_all_stats to see
what other roles' sessions do.

A problem needs somebody now, a warning will or might. What lasts is a problem from ten times the time on that makes it a warning.

Exit codes: 0 all is well, or warnings alone; 1 a problem, with --strict a warning too, or no connection; 2 wrong usage.

Examples:
  pgque doctor
  pgque doctor --strict                       for a deployment that is to be clean
  pgque doctor --older-than 10m --lag 1h      where long reports and a night's backlog are normal
  pgque doctor --json | jq '.checks[] | select(.severity != "ok")'`;

/** The `doctor` command. */
export function doctorCommand(): Command {
  return withDatabase(new Command("doctor"))
    .description("Say what is wrong with queues, the server and whoever holds the xmin horizon, and what fixes it.")
    .addOption(
      new Option("--older-than <duration>", "a transaction that holds the horizon for so long is a warning")
        .default(60_000, "1m")
        .argParser(duration),
    )
    .addOption(
      new Option("--lag <duration>", "messages that wait for so long are a warning")
        .default(600_000, "10m")
        .argParser(duration),
    )
    .option("--json", "print JSON")
    .option("--strict", "exit with 1 for warnings too")
    .addHelpText("after", more)
    .action(async (flags: Flags) => {
      process.exitCode = await doctor(flags);
    });
}

async function doctor(flags: Flags): Promise<number> {
  const [{ quoteIdentifier }, { examine, worstOf }, { jsonReport, textReport }] = await Promise.all([
    import("@pgque/sql"),
    import("../doctor/examine.ts"),
    import("../doctor/report.ts"),
  ]);
  const findings = await withClient(flags, async (client) =>
    examine({
      client,
      connect: () => connect(connectionConfig(flags)),
      schema: flags.schema,
      quoted: await quoteIdentifier(client, flags.schema),
      olderThanMs: flags.olderThan,
      lagMs: flags.lag,
    }),
  );
  await printLine(flags.json ? jsonReport(findings) : textReport(findings));
  const worst = worstOf(findings);
  return worst === "problem" || (worst === "warning" && flags.strict) ? 1 : 0;
}
