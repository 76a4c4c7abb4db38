import { bytes, ms, spread, whole } from "../../report/format.ts";
import type { Published } from "../../report/scenario-report.ts";
import { rowsOf, spreadIn, type FigureColumn } from "./columns.ts";
import type { Results } from "./results.ts";

/** The load of the published table: messages a second, of all producers together. */
const publishedRate = 800;

/** Held for three minutes a trial on PostgreSQL 17, by four producers and four consumers; of PgQue the tables of events alone were counted. */
const published = [
  { horizon: "none", system: "skip-locked", rate: 797, dead: 6397, mebibytes: 1, bystanderMs: 1.35 },
  { horizon: "none", system: "pgq-universal", rate: 792, dead: 0, mebibytes: 13.4, bystanderMs: 1.5 },
  { horizon: "repeatable-read", system: "skip-locked", rate: 517, dead: 91_593, mebibytes: 15.1, bystanderMs: 2.05 },
  { horizon: "repeatable-read", system: "pgq-universal", rate: 804, dead: 0, mebibytes: 27, bystanderMs: 1.45 },
];

/** What was published, and what was measured here. */
type Pair = [theirs: (of: (typeof published)[number]) => number, ours: FigureColumn["pick"], format: typeof whole];

const pairs: Record<string, Pair> = {
  "finished/s": [({ rate }) => rate, (trial) => trial.dequeuedPerSecond, whole],
  "dead tuples": [({ dead }) => dead, (trial) => trial.deadTuples, whole],
  "on disk": [({ mebibytes }) => mebibytes * 2 ** 20, (trial) => trial.bytes, bytes],
  "bystander mean": [({ bystanderMs }) => bystanderMs, (trial) => trial.bystanderMs?.mean, ms],
};

/** The trials of this run that have a published counterpart. */
export function xminPublished(results: Results): Published {
  const measured = rowsOf(results);
  const comparable = results.settings.mode === "paced" && results.settings.rate === publishedRate;
  const rows = published.flatMap((theirs) => {
    const row = measured.find(({ system, horizon }) => system === theirs.system && horizon === theirs.horizon);
    if (row === undefined || row.measured.length === 0) return [];
    const beside = Object.values(pairs).map(([of, pick, format]) => [
      format(of(theirs)),
      spread(spreadIn(row, pick), format),
    ]);
    return [[theirs.system, theirs.horizon, ...beside.flat()]];
  });
  return {
    source:
      "*Published*: the benchmark of PgQue's repository (NikolayS/PgQue #80) at the same rate, with four producers and four consumers, three minutes a trial, " +
      "PostgreSQL 17, on a machine of theirs; of PgQue (`pgq-universal`) only the tables of events were counted. Its SKIP LOCKED script deletes one row at a time, as `skip-locked-rows` does. *Here*: this run, on the machine below, all tables counted. " +
      "What one machine does says nothing of the other: compare how far the rows of one column are apart.",
    heads: ["system", "horizon held by", ...Object.keys(pairs).flatMap((head) => [`${head}, published`, "here"])],
    textColumns: 2,
    rows: comparable ? rows : [],
  };
}
