import { quotient, spreadOf } from "../measure/statistics.ts";
import { cpuMs, ms, ratio, spread, whole } from "../report/format.ts";
import type { Column } from "../report/table.ts";
import { publishedRatios } from "./published.ts";
import type { RetentionFigures } from "./retention-results.ts";
import { intervalText, reference, type RetentionRow } from "./retention-summary.ts";
import { updatedTables, type TableCounts, type UpdatedTable } from "./tpcb-tables.ts";

type Pick = (figures: RetentionFigures) => number | null | undefined;

const figure =
  (pick: Pick, format: (value: number) => string) =>
  ({ measured }: RetentionRow): string =>
    spread(spreadOf(measured.map(pick)), format);

/** Of two counts of one table. */
const share =
  (table: UpdatedTable, dividend: keyof TableCounts, divisor: keyof TableCounts): Pick =>
  ({ tables }) =>
    quotient(tables[table][dividend], tables[table][divisor]);

const perTransaction = ({ serverCpuSeconds, transactions }: RetentionFigures): number | null =>
  quotient(serverCpuSeconds, transactions);

const percent = (value: number): string => `${(value * 100).toFixed(value < 0.1 ? 1 : 0)} %`;
const seconds = (value: number): string => `${value.toFixed(1)} s`;

/** How many columns of the tables are text. */
export const textColumns = 2;

const identity: Column<RetentionRow>[] = [
  { head: "queue beside", cell: ({ system }) => system },
  { head: "interval", cell: ({ interval }) => intervalText(interval) },
];

/** What became of the load. */
export const loadColumns: Column<RetentionRow>[] = [
  ...identity,
  { head: "TPS", cell: figure(({ transactionsPerSecond }) => transactionsPerSecond, whole) },
  {
    head: "/ none",
    cell: (row) => (row.interval === reference ? "" : spread(row.ratio, ratio)),
  },
  { head: "published", cell: ({ interval }) => publishedRatios[interval] ?? "" },
  { head: "HOT, accounts", cell: figure(share("accounts", "hotUpdates", "updates"), percent) },
  { head: "dead tuples", cell: figure(({ tpcbDeadTuples }) => tpcbDeadTuples, whole) },
  { head: "server CPU / transaction", cell: figure(perTransaction, cpuMs) },
];

/** What became of the queue beside it. */
export const queueColumns: Column<RetentionRow>[] = [
  ...identity,
  { head: "sent/s", cell: figure(({ queue }) => queue.sentPerSecond, whole) },
  { head: "finished/s", cell: figure(({ queue }) => queue.finishedPerSecond, whole) },
  { head: "latency p50", cell: figure(({ queue }) => queue.latencyMs?.p50, ms) },
  { head: "p99", cell: figure(({ queue }) => queue.latencyMs?.p99, ms) },
  { head: "dead tuples", cell: figure(({ queue }) => queue.deadTuples, whole) },
];

/** What the load did to each of its tables; in the reports only. */
export const tableColumns: Column<RetentionRow>[] = [
  ...identity,
  ...updatedTables.map((table) => ({
    head: `HOT, ${table}`,
    cell: figure(share(table, "hotUpdates", "updates"), percent),
  })),
  ...updatedTables.flatMap((table) => [
    { head: `heap fetches / index scan, ${table}`, cell: figure(share(table, "heapFetches", "indexScans"), ratio) },
    { head: `entries read / index scan, ${table}`, cell: figure(share(table, "entriesRead", "indexScans"), ratio) },
    { head: `buffers / index scan, ${table}`, cell: figure((figures) => figures.buffersPerIndexScan[table], ratio) },
  ]),
];

/** What was seen of the slot, and who used the machine; in the reports only. */
export const moreColumns: Column<RetentionRow>[] = [
  ...identity,
  { head: "slot moved", cell: figure(({ slot }) => slot?.moves, whole) },
  { head: "its age p50", cell: figure(({ slot }) => slot?.ageMsP50, ms) },
  { head: "its age, most", cell: figure(({ slot }) => slot?.ageMsMax, ms) },
  { head: "in transactions, most", cell: figure(({ slot }) => slot?.xminAgeMax, whole) },
  { head: "transaction p50", cell: figure(({ transactionMs }) => transactionMs?.p50, ms) },
  { head: "transaction p99", cell: figure(({ transactionMs }) => transactionMs?.p99, ms) },
  { head: "server CPU", cell: figure(({ serverCpuSeconds }) => serverCpuSeconds, seconds) },
  { head: "load's CPU", cell: figure(({ tpcbCpuSeconds }) => tpcbCpuSeconds, seconds) },
  { head: "queue's clients' CPU", cell: figure(({ queueCpuSeconds }) => queueCpuSeconds, seconds) },
  { head: "others' CPU", cell: figure(({ otherCpuSeconds }) => otherCpuSeconds, seconds) },
];
