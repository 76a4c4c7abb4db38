import { InvalidArgumentError, type Command } from "commander";
import { Client } from "pg";
import { connectionConfig } from "../connection.ts";
import { UsageError } from "../output/failure.ts";

const environment = ["DATABASE_URL", "PGHOST", "PGPORT", "PGUSER", "PGDATABASE"];

/** Undefined: an embedded server. */
export function databaseUrlOf(flags: { databaseUrl?: string }): string | undefined {
  const given = [flags.databaseUrl, ...environment.map((name) => process.env[name])].some(Boolean);
  if (!given) return undefined;
  const config = connectionConfig(flags);
  if (config.connectionString && URL.canParse(config.connectionString)) return config.connectionString;
  // The PG* variables: the benchmark needs a URL, to put the names of its own databases into it.
  const { user, password, host, port, database } = new Client(config);
  const credentials = [user ?? "", ...(password ? [password] : [])].map(encodeURIComponent).join(":");
  return `postgres://${credentials}@${encodeURIComponent(host)}:${port}/${encodeURIComponent(database ?? "postgres")}`;
}

/** What every scenario may be told of where it runs and where its results go. */
export interface CommonFlags {
  /** Seconds; of scenarios that have one. */
  duration?: number;
  /** A file; of scenarios that compare with an earlier run. */
  baseline?: string;
  results?: string;
  json?: true;
  databaseUrl?: string;
  postgres?: number[];
}

/** Systems of one SQL file, which is not ours to ship. */
export function withSqlFiles(command: Command): Command {
  return command
    .option("--pgmq-sql <file>", "PGMQ's pgmq.sql, for pgmq")
    .option("--pgq-sql <file>", "PgQ's pgq_pl_only.sql, for pgq")
    .option("--pgq-universal-sql <file>", "PgQue's pgque.sql, for pgq-universal: another project than this one");
}

/** The options that stand for these flags, at the end of a scenario's own. */
export function withCommonOptions(command: Command, scenario: string): Command {
  return command
    .option("--results <folder>", `(default: results/<time>-${scenario})`)
    .option("--json", "print results.json instead of the tables")
    .option("--database-url <url>", "the server to use (default: DATABASE_URL, PG* variables, else an embedded one)")
    .option(
      "--postgres <majors>",
      "of the embedded servers, some of 14 to 18: all is run on each in turn (default: 17)",
      numbers,
    );
}

export function commonOptions(flags: CommonFlags): {
  resultsFolder?: string;
  postgresMajors?: number[];
  databaseUrl?: string;
} {
  const url = databaseUrlOf(flags);
  return {
    ...(flags.results === undefined ? {} : { resultsFolder: flags.results }),
    ...(flags.postgres === undefined ? {} : { postgresMajors: flags.postgres }),
    ...(url === undefined ? {} : { databaseUrl: url }),
  };
}

export function number(text: string): number {
  const value = Number(text);
  if (text.trim() === "" || !Number.isFinite(value)) throw new InvalidArgumentError("Expected a number.");
  return value;
}

export function numbers(text: string): number[] {
  return list(text).map(number);
}

export function list(text: string): string[] {
  return text
    .split(",")
    .map((name) => name.trim())
    .filter(Boolean);
}

/** Options before the scenario's name are those of another scenario: to ignore them would measure something else than was asked for. */
export function refuseMisplaced(scenario: Command): void {
  const { parent } = scenario;
  const given = parent?.options.filter((option) => parent.getOptionValueSource(option.attributeName()) === "cli") ?? [];
  const [first] = given;
  if (first === undefined) return;
  throw new UsageError(
    `expected options of the scenario ${scenario.name()} after its name, got before it: ${first.long}`,
  );
}
