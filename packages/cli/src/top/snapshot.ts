import type { Client, QueryResult } from "pg";
import { type Holder, holdersSql } from "@pgque/client/horizon";

/** A consumer of a queue as it is just now. */
export interface Line {
  queue: string;
  /** Null: nobody has subscribed to the queue. */
  consumer: string | null;
  paused: boolean;
  /** Messages that can be received. */
  depth: number;
  /** Depth or messages in flight are. */
  estimated: boolean;
  /** What came into the queue since its current segment began. */
  sentPerSecond: number;
  /** What the consumer received in the last minute. */
  receivedPerSecond: number;
  inFlight: number;
  /** How long ago the oldest message was sent that can be received; null: there is none. */
  lagMs: number | null;
  /** What waits for its time, in the queue: retries and what was sent with a delay. */
  delayed: number;
  deadLetters: number;
  bytes: number;
}

/** What `pgque top` shows. */
export interface Snapshot {
  at: string;
  lines: Line[];
  /** Who holds back user tables, the oldest first: at most three. */
  holders: Holder[];
}

/**
 * Looks once, in one round trip and one read-only transaction. It costs what `queue_status` and `consumer_status` cost: some
 * milliseconds a queue.
 *
 * @param timeoutMs longer than that it would hold the horizon itself: the server cancels it
 */
export async function takeSnapshot(client: Client, quoted: string, timeoutMs: number): Promise<Snapshot> {
  const results = (await client.query(`
    begin read only;
    set local statement_timeout = '${timeoutMs}ms';
    -- what joins functions is taken to be expensive
    set local jit = off;
    select (select coalesce(json_agg(l), '[]') from (${linesSql(quoted)}) l) as lines,
           (select coalesce(json_agg(h), '[]') from (
             select * from (${holdersSql}) h where h.holds = 'tables' and (h."ageMs" >= 1000 or h."ageMs" is null) limit 3
           ) h) as holders;
    commit`)) as unknown as QueryResult<Omit<Snapshot, "at">>[];
  const [found] = results.flatMap(({ rows }) => rows);
  return { at: new Date().toISOString(), lines: [], holders: [], ...found };
}

function linesSql(quoted: string): string {
  return `
    select s.queue_name as "queue", c.consumer, coalesce(c.paused, false) as "paused", coalesce(c.depth, 0) as "depth",
           coalesce(c.estimated, false) as "estimated",
           s.sent_per_second as "sentPerSecond", coalesce(c.received_per_second, 0) as "receivedPerSecond",
           coalesce(c.in_flight, 0) as "inFlight", extract(epoch from clock_timestamp() - c.oldest_at)::float8 * 1000 as "lagMs",
           s.delayed, s.dead_letters as "deadLetters", s.bytes
      from ${quoted}.queue_status() s
      left join ${quoted}.consumer_status() c on c.queue_name = s.queue_name
     order by s.queue_name, c.consumer`;
}
