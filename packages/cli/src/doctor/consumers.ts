import { showAge } from "../output/duration.ts";
import { described, showCount, showEstimate } from "../output/text.ts";
import { ok, severityOf, type Check, type Examination, type Finding } from "./finding.ts";

interface Consumer {
  queue: string;
  consumer: string;
  depth: number;
  estimated: boolean;
  lag_ms: number | null;
  /** Since it last received, or was placed where it is. */
  unreceived_ms: number;
  /** Since it was added or moved. */
  placed_ms: number;
  has_received: boolean;
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
      `select s.queue_name as queue, s.consumer, s.depth::float8, extract(epoch from clock_timestamp() - s.oldest_at)::float8 * 1000 as lag_ms,
              extract(epoch from clock_timestamp() - coalesce(s.received_at, c.created_at))::float8 * 1000 as unreceived_ms,
              extract(epoch from clock_timestamp() - c.created_at)::float8 * 1000 as placed_ms,
              s.received_at is not null as has_received, s.in_flight::float8, s.paused, s.estimated
         from ${quoted}.consumer_status() s
         join ${quoted}.consumer_settings() c on (c.queue_name, c.consumer) = (s.queue_name, s.consumer)`,
    );
    const { rows: waiting } = await client.query<WaitingLanes>(
      `select queue_name as queue, consumer, lanes, extract(epoch from wait)::float8 * 1000 as wait_ms,
              extract(epoch from waits_until - clock_timestamp())::float8 * 1000 as left_ms
         from ${quoted}.waiting_lanes()`,
    );
    if (rows.length === 0) return [ok("there is no consumer")];
    const findings = [
      ...rows.filter((row) => waitMs(row) >= lagMs).map((row) => lagFinding(row, examination)),
      ...waiting.filter(({ wait_ms }) => wait_ms >= lagMs).map((row) => waitingFinding(row, examination)),
    ];
    return findings.length > 0
      ? findings
      : [ok(`${rows.length} ${rows.length === 1 ? "consumer keeps" : "consumers keep"} up`)];
  },
};

/** How long its workers have had for the oldest message: one that was moved back has all before it anew. */
const waitMs = ({ lag_ms, placed_ms }: Consumer): number => Math.min(lag_ms ?? 0, placed_ms);

function lagFinding(of: Consumer, { client, lagMs, quoted }: Examination): Finding {
  const count = showEstimate(showCount(of.depth), of.estimated);
  const oldest = of.depth === 1 ? "message waits, sent" : "messages wait, the oldest sent";
  const found = `${described(of)}: ${count} ${oldest} ${showAge(of.lag_ms)} ago`;
  const severity = severityOf(waitMs(of), lagMs);
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
  if (of.unreceived_ms >= lagMs) {
    const since = of.has_received ? "" : ", since it was added or moved";
    return {
      severity,
      found: `${found}; nobody has received for ${showAge(of.unreceived_ms)}${since}`,
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
