import { showAge } from "../output/duration.ts";
import { showBytes } from "../output/text.ts";
import { lasting, ok, type Check, type Examination, type Finding } from "./finding.ts";

interface WaitingSegment {
  queue_name: string;
  segments: number;
  waits_ms: number;
  bytes: number;
  blockers: string[];
}

/** Each queue gives space back, or what keeps it from that. */
export const rotationCheck: Check = {
  name: "rotation",
  needsSchema: true,
  async run(examination) {
    const { client, quoted } = examination;
    const { rows } = await client.query<WaitingSegment>(
      `select s.queue_name, s.segments, extract(epoch from clock_timestamp() - s.rotated_at)::float8 * 1000 as waits_ms,
              sum(b.bytes)::float8 as bytes, array_agg(distinct w.blocker) as blockers
         from ${quoted}.queue_status() s
        cross join lateral ${quoted}.segment_status(s.queue_name) b
        cross join lateral unnest(b.waits_for) as w(blocker)
        group by s.queue_name, s.segments, s.rotated_at
        order by s.queue_name`,
    );
    const findings = rows.flatMap((row) => row.blockers.map((blocker) => blockerFinding(row, blocker, examination)));
    const worse = findings.filter(({ severity }) => severity !== "ok");
    return worse.length > 0 ? worse : [ok("every queue reclaims its space")];
  },
};

/** What one of the reasons that `segment_status` gives means. */
function blockerFinding(
  { queue_name: queue, segments, waits_ms, bytes: size }: WaitingSegment,
  blocker: string,
  { client, quoted, lagMs }: Examination,
): Finding {
  const pid = /^process (\d+) /.exec(blocker)?.[1];
  const gid = /^prepared transaction ('.*') holds/s.exec(blocker)?.[1];
  const found = `queue ${JSON.stringify(queue)} keeps ${showBytes(size)} in drained segments, of ${segments}: ${blocker}`;
  const why = "the queue grows by a segment at each rotation until it ends; sending and receiving go on";
  if (pid !== undefined) return { severity: "warning", found, why, fix: [`select pg_terminate_backend(${pid})`] };
  if (gid !== undefined) return { severity: "warning", found, why, fix: [`rollback prepared ${gid}`] };
  if (blocker.startsWith("the retention")) return ok(found);
  return lasting(waits_ms, lagMs, found, {
    found: `queue ${JSON.stringify(queue)} has kept ${showBytes(size)} for ${showAge(waits_ms)}: ${blocker}`,
    why: "what one consumer has not received or settled is kept for it, and grows until it does",
    fix: remedy(blocker, quoted, client.escapeLiteral(queue)),
  });
}

function remedy(blocker: string, quoted: string, queue: string): string[] {
  if (blocker.startsWith("no consumer")) {
    return ["-- run a worker, or if nobody is ever to receive from it:", `select ${quoted}.drop_queue(${queue})`];
  }
  return [
    "-- run its worker, or more of them; if nobody is to receive for it any more:",
    `-- select ${quoted}.unsubscribe(${queue}, <consumer>)`,
    "-- or have it dropped when it lags:",
    `-- select ${quoted}.change_queue(${queue}, '{"max_lag": "1 day", "max_lag_action": "drop"}')`,
  ];
}
