import type { Major } from "@pgque/postgres";
import { majorsOf } from "../option.ts";

/** What a user of every scenario may choose: where it runs, and where its results go. */
export interface CommonOptions {
  /** Where results go. Default: `results/<time>-<scenario>` below the current folder. */
  resultsFolder?: string;
  /** A server to use. Default: start an embedded one. */
  databaseUrl?: string;
  /** Of the embedded servers: everything is run on each in turn. Default: 17. */
  postgresMajors?: number[];
}

export interface CommonSettings {
  /** Null: the default. */
  resultsFolder: string | null;
  /** Null: embedded ones. */
  databaseUrl: string | null;
  postgresMajors: Major[];
}

/** Throws a BenchOptionError for the first option that cannot be used. */
export function commonSettings(options: CommonOptions): CommonSettings {
  return {
    resultsFolder: options.resultsFolder ?? null,
    databaseUrl: options.databaseUrl ?? null,
    postgresMajors: majorsOf(options),
  };
}
