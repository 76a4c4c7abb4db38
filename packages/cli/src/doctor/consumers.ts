import { showAge } from "../output/duration.ts";
import { described, showCount, showEstimate } from "../output/text.ts";
import { ok, severityOf, type Check, type Examination, type Finding } from "./finding.ts";

interface Consumer {
  queue: string;
  consumer: string;
  depth: number;
  estimated: boolean;
  lag_ms: number | null;
  unreceived_ms: number | null;
  in_flight: number;
  paused: boolean;
}

/** The longest wait of a consumer's lanes. */
interface WaitingLanes {
  queue: string;
  consumer: string;
  lanes: number;
  wait_ms: number;
  left_ms: number;
}

/** Consumers that do not keep up, or for whom nobody receives. */
export const consumersCheck: Check = {
  name: "consumers",
  needsSchema: true,
  async run(examination) {
    const { client, quoted, lagMs } = examination;
    const { rows } = await client.query<Consumer>(
      `select queue_name as queue, consumer, depth::float8, extract(epoch from clock_timestamp() - oldest_at)::float8 * 1000 as lag_ms,
              extract(epoch from clock_timestamp() - received_at)::float8 * 1000 as unreceived_ms, in_flight::float8, paused, estimated
         from ${quoted}.consumer_status()`,
    );
    const { rows: waiting } = await client.query<WaitingLanes>(
      `select queue_name as queue, consumer, lanes, extract(epoch from wait)::float8 * 1000 as wait_ms,
              extract(epoch from waits_until - clock_timestamp())::float8 * 1000 as left_ms
         from ${quoted}.waiting_lanes()`,
    );
    if (rows.length === 0) return [ok("there is no consumer")];
    const findings = [
      ...rows.filter(({ lag_ms }) => (lag_ms ?? 0) >= lagMs).map((row) => lagFinding(row, examination)),
      ...waiting.filter(({ wait_ms }) => wait_ms >= lagMs).map((row) => waitingFinding(row, examination)),
    ];
    return findings.length > 0
      ? findings
      : [ok(`${rows.length} ${rows.length === 1 ? "consumer keeps" : "consumers keep"} up`)];
  },
};

function lagFinding(of: Consumer, { client, lagMs, quoted }: Examination): Finding {
  const count = showEstimate(showCount(of.depth), of.estimated);
  const found = `${described(of)}: ${count} ${of.depth === 1 ? "message waits" : "messages wait"}, the oldest for ${showAge(of.lag_ms)}`;
  const severity = severityOf(of.lag_ms ?? 0, lagMs);
  const queue = client.escapeLiteral(of.queue);
  const which = `${queue}, ${client.escapeLiteral(of.consumer)}`;
  if (of.paused) {
    return {
      severity: "warning",
      found: `${found}; it is paused, or its queue is`,
      why: "nothing is received while it is",
      fix: [`select ${quoted}.resume(${which})`, `-- or the queue: select ${quoted}.resume(${queue})`],
    };
  }
  if (of.unreceived_ms === null || of.unreceived_ms >= lagMs) {
    const nobody = of.unreceived_ms === null ? "ever received" : `received for ${showAge(of.unreceived_ms)}`;
    return {
      severity,
      found: `${found}; nobody has ${nobody}`,
      why: "its workers have died or were never started",
      fix: [
        "-- start its worker; if nobody is to receive for it any more:",
        `-- select ${quoted}.unsubscribe(${which})`,
      ],
    };
  }
  return {
    severity,
    found: `${found}; ${showCount(of.in_flight)} in flight`,
    why: "its workers are slower than what is sent",
    fix: ["-- run more workers, or with a higher concurrency"],
  };
}

/** Never more than a warning: the message is tried again by itself. */
function waitingFinding(of: WaitingLanes, { client, quoted }: Examination): Finding {
  const lanes = of.lanes === 1 ? "1 lane waits" : `${of.lanes} lanes wait`;
  const left = of.left_ms > 0 ? `${showAge(of.left_ms)} are left` : "the time is over, and nobody receives";
  return {
    severity: "warning",
    found: `${described(of)}: ${lanes} behind a message that failed or is snoozed, for ${showAge(of.wait_ms)}; ${left}`,
    why: "the consumer blocks: the later messages of these keys are handled when that one is, or is a dead letter",
    fix: [
      "-- fix what the handler fails at; or give it up sooner, with a lower max_retries of the queue:",
      `-- select ${quoted}.change_queue(${client.escapeLiteral(of.queue)}, '{"max_retries": 5}')`,
    ],
  };
}
