import { list, number } from "../options.ts";

/** An option: flag, help, and how its value is read; without `read` it is a text, or a switch. */
export type BenchOption = [flag: string, help: string, read?: (text: string) => unknown];

export const quick = (how: string): BenchOption => ["--quick", `${how}; indicative only`];
export const duration = (what: string): BenchOption => ["--duration <seconds>", what, number];
export const systems = (which: string): BenchOption => ["--systems <names>", which, list];
export const repeat = (count: number, inQuick?: number): BenchOption => [
  "--repeat <times>",
  `(default: ${count}${inQuick === undefined ? "" : `; quick: ${inQuick}`})`,
  number,
];
export const clients: BenchOption[] = [
  ["--producers <n>", "(default: 4)", number],
  ["--consumers <n>", "(default: 4)", number],
  ["--batch <messages>", "the most one receive returns (default: 100)", number],
];
export const payloadBytes: BenchOption = ["--payload-bytes <bytes>", "(default: 75)", number];
export const synchronousCommit = (preset: string): BenchOption => [
  "--synchronous-commit <setting>",
  `on or off (default: ${preset})`,
];
/** Systems of one SQL file, which is not ours to ship. */
export const sqlFiles: BenchOption[] = [
  ["--pgmq-sql <file>", "PGMQ's pgmq.sql, for pgmq"],
  ["--pgq-sql <file>", "PgQ's pgq_pl_only.sql, for pgq"],
  ["--pgq-universal-sql <file>", "PgQue's pgque.sql, for pgq-universal: another project than this one"],
];
