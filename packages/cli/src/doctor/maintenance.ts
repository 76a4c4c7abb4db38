import { showAge } from "../output/duration.ts";
import { counted, described } from "../output/text.ts";
import { lasting, ok, type Check, type Finding } from "./finding.ts";

interface Status {
  is_same_cluster: boolean;
  unseen_ms: number;
  overdue_ms: number | null;
  behind_ms: number | null;
  workers: number;
  queues: number;
}

interface LostBatches {
  queue: string;
  consumer: string;
  batches: number;
  lost_ms: number;
}

interface FailedStep {
  queue_name: string;
  step: string;
  failed_ms: number;
  message: string;
}

/** The trace that maintenance leaves is renewed every ten minutes. */
const tracePeriodMs = 600_000;

/** What is due is delivered within about a second; under load, somewhat later. */
const overdueMsMax = 30_000;

/** Somebody calls maintain, and the messages are this cluster's. */
export const maintenanceCheck: Check = {
  name: "maintenance",
  needsSchema: true,
  async run({ client, quoted }) {
    const { rows } = await client.query<Status>(
      `select m.is_same_cluster,
              extract(epoch from clock_timestamp() - m.seen_at)::float8 * 1000 as unseen_ms,
              extract(epoch from clock_timestamp() - m.overdue_since)::float8 * 1000 as overdue_ms,
              extract(epoch from m.clock_behind)::float8 * 1000 as behind_ms,
              (select count(*)::int from ${quoted}.worker_status()) as workers,
              cardinality(${quoted}.queue_names()) as queues
         from ${quoted}.maintenance_status() m`,
    );
    const { rows: lost } = await client.query<LostBatches>(
      `select queue_name as queue, consumer, batches, extract(epoch from clock_timestamp() - lost_since)::float8 * 1000 as lost_ms
         from ${quoted}.lost_batches()`,
    );
    const { rows: failed } = await client.query<FailedStep>(
      `select queue_name, step, extract(epoch from clock_timestamp() - failed_at)::float8 * 1000 as failed_ms, message
         from ${quoted}.maintenance_problems()`,
    );
    const [status] = rows;
    if (status === undefined) return [];
    return [
      clusterFinding(status.is_same_cluster, quoted),
      maintainFinding(status, quoted),
      ...(status.behind_ms === null ? [] : [clockFinding(status.behind_ms)]),
      ...(status.overdue_ms === null ? [] : [overdueFinding(status.overdue_ms, quoted)]),
      ...lost.map((batches) => lostFinding(batches, quoted)),
      ...failed.map(failedFinding),
    ];
  },
};

function clusterFinding(isSameCluster: boolean, quoted: string): Finding {
  if (isSameCluster) return ok("the stored transaction ids are this cluster's");
  return {
    severity: "problem",
    found: "the messages are those of another cluster: they were restored, replicated or upgraded",
    why: "sending and receiving fail with PQ007 until they have been written anew",
    fix: ["-- with senders and workers stopped, as the schema's owner:", `select * from ${quoted}.repair()`],
  };
}

function maintainFinding({ unseen_ms, workers, queues }: Status, quoted: string): Finding {
  const alive = `${workers} ${workers === 1 ? "worker is" : "workers are"} alive`;
  if (queues === 0) return ok("there is no queue to maintain");
  // the trace may be as old as its period although somebody was here a moment ago
  const unseenMs = unseen_ms - tracePeriodMs;
  return lasting(unseenMs, tracePeriodMs, `somebody calls maintain, or did in the last minutes; ${alive}`, {
    found: `nobody has called maintain for ${showAge(unseenMs)}; ${alive}`,
    why: "delayed messages and retries are not delivered, dead workers keep their messages, and no space is reclaimed",
    fix: [
      "-- run a worker, or schedule this every second (pg_cron, or any scheduler):",
      `call ${quoted}.maintain_all()`,
    ],
  });
}

function clockFinding(behindMs: number): Finding {
  return {
    severity: "warning",
    found: `the server's clock has stepped back, by ${showAge(behindMs)} or more`,
    why: "leases, delays and dedupe keys from before last longer by that step, and what maintain measures by the clock begins anew",
    fix: [
      "-- let NTP slew the clock instead of stepping it, and look for what set it: chronyc tracking, or timedatectl",
    ],
  };
}

function overdueFinding(overdueMs: number, quoted: string): Finding {
  return lasting(overdueMs, overdueMsMax, "delayed messages are delivered in time", {
    found: `a delayed message or a retry has been due for ${showAge(overdueMs)} and is not delivered`,
    why: "whoever calls maintain delivers what is due: nobody does, or it fails",
    fix: [`call ${quoted}.maintain_all()`],
  });
}

function lostFinding(of: LostBatches, quoted: string): Finding {
  const [whose, batches] = [described(of), counted(of.batches, "batch", "batches")];
  return lasting(of.lost_ms, overdueMsMax, `${whose}: a worker died, its messages are about to be requeued`, {
    found: `${whose}: ${batches} of dead workers, the first for ${showAge(of.lost_ms)}`,
    why: "their messages come again only when somebody calls maintain",
    fix: [`call ${quoted}.maintain_all()`],
  });
}

function failedFinding({ queue_name, step, failed_ms, message }: FailedStep): Finding {
  const what = step === "grow" ? "another segment could not be added" : "a segment could not be truncated";
  return {
    severity: "problem",
    found: `queue ${JSON.stringify(queue_name)}: ${what}, ${showAge(failed_ms)} ago: ${message}`,
    why: "sending, receiving, delivery and recovery go on, but the queue takes more and more space",
    fix: ["-- remove what the message names: maintenance tries again within the hour"],
  };
}
