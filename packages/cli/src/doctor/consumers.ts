import { showAge } from "../output/duration.ts";
import { showCount } from "../output/text.ts";
import { ok, severityOf, type Check, type Finding } from "./finding.ts";

interface Consumer {
  queue_name: string;
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
  queue_name: string;
  consumer: string;
  lanes: number;
  wait_ms: number;
  left_ms: number;
}

/** Consumers that do not keep up, or for whom nobody receives. */
export const consumersCheck: Check = {
  name: "consumers",
  needsSchema: true,
  async run({ client, quoted, lagMs }) {
    const { rows } = await client.query<Consumer>(
      `select queue_name, consumer, depth::float8, extract(epoch from clock_timestamp() - oldest_at)::float8 * 1000 as lag_ms,
              extract(epoch from clock_timestamp() - received_at)::float8 * 1000 as unreceived_ms, in_flight::float8, paused, estimated
         from ${quoted}.consumer_status()`,
    );
    const { rows: waiting } = await client.query<WaitingLanes>(
      `select queue_name, consumer, lanes, extract(epoch from wait)::float8 * 1000 as wait_ms,
              extract(epoch from waits_until - clock_timestamp())::float8 * 1000 as left_ms
         from ${quoted}.waiting_lanes()`,
    );
    if (rows.length === 0) return [ok("there is no consumer")];
    const literal = (name: string): string => client.escapeLiteral(name);
    const worse = [
      ...rows.map((row) => consumerFinding(row, lagMs, quoted, literal)),
      ...waiting.filter(({ wait_ms }) => wait_ms >= lagMs).map((row) => waitingFinding(row, quoted, literal)),
    ];
    const lagging = worse.filter(({ severity }) => severity !== "ok");
    return lagging.length > 0
      ? lagging
      : [ok(`${rows.length} ${rows.length === 1 ? "consumer keeps" : "consumers keep"} up`)];
  },
};

function consumerFinding(of: Consumer, lagMs: number, quoted: string, literal: (name: string) => string): Finding {
  const severity = of.lag_ms === null ? "ok" : severityOf(of.lag_ms, lagMs);
  if (of.lag_ms === null || severity === "ok") return ok(`consumer ${JSON.stringify(of.consumer)} keeps up`);
  const waiting = `${of.estimated ? "≈" : ""}${showCount(of.depth)} ${of.depth === 1 ? "message waits" : "messages wait"}, the oldest for ${showAge(of.lag_ms)}`;
  const found = `consumer ${JSON.stringify(of.consumer)} of queue ${JSON.stringify(of.queue_name)}: ${waiting}`;
  const which = [of.queue_name, of.consumer].map(literal).join(", ");
  if (of.paused) {
    return {
      severity: "warning",
      found: `${found}; it is paused, or its queue is`,
      why: "nothing is received while it is",
      fix: [`select ${quoted}.resume(${which})`, `-- or the queue: select ${quoted}.resume(${literal(of.queue_name)})`],
    };
  }
  if (of.unreceived_ms === null || of.unreceived_ms >= lagMs) {
    const since = of.unreceived_ms === null ? "ever" : `for ${showAge(of.unreceived_ms)}`;
    return {
      severity,
      found: `${found}; ${of.unreceived_ms === null ? `nobody has ${since} received` : `nobody has received ${since}`}`,
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
function waitingFinding(of: WaitingLanes, quoted: string, literal: (name: string) => string): Finding {
  const lanes = of.lanes === 1 ? "1 lane waits" : `${of.lanes} lanes wait`;
  const left = of.left_ms > 0 ? `${showAge(of.left_ms)} are left` : "the time is over, and nobody receives";
  return {
    severity: "warning",
    found: `consumer ${JSON.stringify(of.consumer)} of queue ${JSON.stringify(of.queue_name)}: ${lanes} behind a message that failed or is snoozed, for ${showAge(of.wait_ms)}; ${left}`,
    why: "the consumer blocks: the later messages of these keys are handled when that one is, or is a dead letter",
    fix: [
      "-- fix what the handler fails at; or give it up sooner, with a lower max_retries of the queue:",
      `-- select ${quoted}.change_queue(${literal(of.queue_name)}, '{"max_retries": 5}')`,
    ],
  };
}
