import { InvalidArgumentError } from "commander";
import { Client } from "pg";
import { connectionConfig } from "../connection.ts";

const environment = ["DATABASE_URL", "PGHOST", "PGPORT", "PGUSER", "PGDATABASE"];

/** Undefined: an embedded server. */
export function databaseUrlOf(flags: { databaseUrl?: string }): string | undefined {
  const given = [flags.databaseUrl, ...environment.map((name) => process.env[name])].some(Boolean);
  if (!given) return undefined;
  const config = connectionConfig({ ...flags, schema: "pgque" });
  if (config.connectionString && URL.canParse(config.connectionString)) return config.connectionString;
  // The PG* variables: the benchmark needs a URL, to put the names of its own databases into it.
  const { user, password, host, port, database } = new Client(config);
  const credentials = [user ?? "", ...(password ? [password] : [])].map(encodeURIComponent).join(":");
  return `postgres://${credentials}@${encodeURIComponent(host)}:${port}/${encodeURIComponent(database ?? "postgres")}`;
}

/** What every scenario may be told of where it runs and where its results go. */
export interface CommonFlags {
  results?: string;
  json?: true;
  databaseUrl?: string;
  postgres?: number;
}

export function commonOptions(flags: CommonFlags): {
  resultsFolder?: string;
  postgresMajor?: number;
  databaseUrl?: string;
} {
  const url = databaseUrlOf(flags);
  return {
    ...(flags.results === undefined ? {} : { resultsFolder: flags.results }),
    ...(flags.postgres === undefined ? {} : { postgresMajor: flags.postgres }),
    ...(url === undefined ? {} : { databaseUrl: url }),
  };
}

export function number(text: string): number {
  const value = Number(text);
  if (text.trim() === "" || !Number.isFinite(value)) throw new InvalidArgumentError("Expected a number.");
  return value;
}

export function list(text: string): string[] {
  return text
    .split(",")
    .map((name) => name.trim())
    .filter(Boolean);
}
