import { readFile } from "node:fs/promises";
import type { Flag } from "../../runner/options.ts";
import { NotRun } from "../../runner/failure.ts";
import type { SqlFiles, Workload } from "../adapter.ts";

/** Of every scenario that has systems which consist of such a file. */
export interface SqlFileOptions {
  /** The SQL of PGMQ, a file's path. Default: none, and `pgmq` is not run. */
  pgmqSql?: string;
  /** The SQL of PgQ in PL/pgSQL alone (`pgq_pl_only.sql`), a file's path. Default: none, and `pgq` is not run. */
  pgqSql?: string;
  /** The SQL of PgQue, "PgQ Universal Edition", a file's path. Default: none, and `pgq-universal` is not run. */
  pgqUniversalSql?: string;
}

export const sqlFileFlags: Flag[] = [
  { flag: "--pgmq-sql <file>", help: "PGMQ's pgmq.sql, for pgmq" },
  { flag: "--pgq-sql <file>", help: "PgQ's pgq_pl_only.sql, for pgq" },
  {
    flag: "--pgq-universal-sql <file>",
    help: "PgQue's pgque.sql, for pgq-universal: another project than this one",
  },
];

export function sqlFilesOf({ pgmqSql, pgqSql, pgqUniversalSql }: SqlFileOptions): SqlFiles {
  return { pgmq: pgmqSql ?? null, pgq: pgqSql ?? null, pgqUniversal: pgqUniversalSql ?? null };
}

/**
 * Runs the SQL of a system that is not ours to ship, on a connection of its own, whose settings such a file may change.
 *
 * @param option the one that names the file
 * @throws NotRun when no file was given
 */
export async function installFile(workload: Workload, file: string | null, option: string): Promise<void> {
  if (file === null) throw new NotRun(`its SQL is not ours to ship and no file of it was given: ${option} FILE`);
  const sql = await readFile(file, "utf8").catch((error: unknown) => {
    throw new Error(`expected ${option} to be an SQL file that can be read, got: ${file}`, { cause: error });
  });
  const client = await workload.connect("install");
  await client.query(sql);
}
