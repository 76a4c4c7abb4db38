import type { Proof } from "../../horizons/horizon.ts";
import { horizonNamed } from "../../horizons/registry.ts";
import { bytes, ms, ratio, spread, whole } from "../../report/format.ts";
import { ratioOf } from "../../runner/trials.ts";
import { rowsOf, spreadIn, type FigureColumn, type Row } from "./columns.ts";
import type { Results } from "./results.ts";

/** The system whose figures the others are divided by. */
const reference = "pgque";

/** One figure that says how a system fares. */
interface Measure {
  pick: FigureColumn["pick"];
  had: (figure: string) => string;
  compared: (system: string, times: string) => string;
}

/** Percentiles of a closed loop are those of its own backlog, so that the duration of a call stands for them there. */
const call: Measure = {
  pick: ({ details }) => details?.calls.receiveAndFinish?.p50Ms,
  had: (figure) => `took a median ${figure} for a receive with its ack`,
  compared: (system, times) => `a receive with its ack took ${system} ${times} times as long (median)`,
};
const latency: Measure = {
  pick: ({ latencyMs }) => latencyMs?.p99,
  had: (figure) => `had a p99 latency of ${figure}`,
  compared: (system, times) => `the p99 latency of ${system} was ${times} times as long`,
};

const measureOf = ({ settings }: Results): Measure => (settings.mode === "saturated" ? call : latency);

/** The run in a sentence for each holder and each system beside Pgque. Facts of this run, no judgement. */
export function headline(results: Results): string[] {
  const measure = measureOf(results);
  const held = rowsOf(results).filter(({ horizon }) => horizon !== "none");
  return held.flatMap((other) => {
    const ours = held.find(({ system, horizon }) => system === reference && horizon === other.horizon);
    if (ours === undefined || other.system === reference) return [];
    const byRepeat = ({ measured }: Row) => measured.map((figures) => ({ repeat: figures.repeat, figures }));
    const times = ratioOf(byRepeat(other), byRepeat(ours), measure.pick);
    const [theirDead, ourDead] = [other, ours].map((row) => spreadIn(row, ({ deadTuples }) => deadTuples)?.median);
    if (times === null || theirDead === undefined || ourDead === undefined) return [];
    return `With ${holderOf(other)}, ${other.system} left ${whole(theirDead)} dead tuples and ${reference} ${whole(ourDead)}; ${measure.compared(other.system, spread(times, ratio))}.`;
  });
}

/** What the figures say, one sentence for each system and holder. */
export function findings(results: Results): string[] {
  const rows = rowsOf(results);
  return rows
    .filter(({ horizon }) => horizon !== "none")
    .flatMap((held) => {
      const none = rows.find(({ system, horizon }) => system === held.system && horizon === "none");
      return sentence(held, none, measureOf(results)) ?? [];
    });
}

function sentence(held: Row, none: Row | undefined, measure: Measure): string | null {
  const told = (pick: Measure["pick"], format: (value: number) => string, unit = ""): string | null => {
    const [now, without] = [held, none].map((row) => row && spreadIn(row, pick)?.median);
    if (now === undefined) return null;
    return `${format(now)}${unit}${without === undefined ? "" : ` (without: ${format(without)})`}`;
  };
  const dead = told(({ deadTuples }) => deadTuples, whole, " dead tuples");
  const disk = told((trial) => trial.bytes, bytes);
  if (dead === null || disk === null) return null;
  const time = told(measure.pick, ms);
  const took = time === null ? "" : `${measure.had(time)}, `;
  return `${held.system}, with ${holderOf(held)}, ${took}left ${dead} and used ${disk}.${besides(held)}`;
}

const holderOf = ({ horizon }: Row): string => horizonNamed(horizon).inWords ?? `the horizon held by ${horizon}`;

/** What else was held, by whom it is not the tables' horizon that counts. */
function besides(held: Row): string {
  const seen = (pick: (proof: Proof) => number | undefined): number | undefined =>
    spreadIn(held, ({ details }) => details?.horizon && pick(details.horizon))?.median;
  const kept = seen(({ messagesKept }) => messagesKept);
  const wal = seen(({ retainedWalBytes }) => retainedWalBytes);
  const catalogs = spreadIn(held, ({ details }) => details?.catalogDeadTuples.after)?.median;
  return [
    kept === undefined ? "" : ` ${whole(kept)} messages were kept for it.`,
    wal === undefined
      ? ""
      : ` ${bytes(wal)} of WAL were kept for it, and ${whole(catalogs ?? 0)} dead rows in system catalogs.`,
  ].join("");
}
