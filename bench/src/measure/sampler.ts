import type pg from "pg";
import { nextTransactionId, oldestHolderOf } from "../horizons/oldest-holder.ts";
import type { Tally } from "../load/tally.ts";
import { Latencies } from "./histogram.ts";
import { reclaimedBetween, relationsOf, type Relation } from "./relations.ts";

/** One look at everything, while it runs. */
export interface Sample {
  phase: string;
  /** Seconds since the trial's first sample. */
  seconds: number;
  enqueued: number;
  dequeued: number;
  depth: number;
  liveTuples: number;
  deadTuples: number;
  bytes: number;
  indexBytes: number;
  bytesReclaimed: number;
  rotations: number | null;
  autovacuums: number;
  xminAge: number;
  transactionIds: number;
  walBytes: number;
  buffersHit: number;
  buffersRead: number;
  lockWaits: number;
  /** Since when the oldest open transaction of another session is open; 0 without any. */
  oldestTransactionSeconds: number;
  /** Of the messages received since the sample before, from when they were due to be sent; null when there were none. */
  latencyP50Ms: number | null;
  latencyP99Ms: number | null;
  /** Of bystanders' reads since the sample before; null when there were none. */
  bystanderP50Ms: number | null;
  bystanderP99Ms: number | null;
}

const database = `
  select (pg_current_wal_lsn() - '0/0')::float8 as "walBytes",
         d.blks_hit::float8 as "buffersHit",
         d.blks_read::float8 as "buffersRead",
         (select count(*)::float8 from pg_locks where not granted) as "lockWaits",
         (select coalesce(extract(epoch from clock_timestamp() - min(xact_start)), 0)::float8
            from pg_stat_activity
           where datname = current_database()
             and backend_type = 'client backend'
             and pid <> pg_backend_pid()) as "oldestTransactionSeconds"
    from pg_stat_database d
   where d.datname = current_database()`;

interface DatabaseFigures {
  walBytes: number;
  buffersHit: number;
  buffersRead: number;
  lockWaits: number;
  oldestTransactionSeconds: number;
}

/** Looks at a system's schema from time to time and adds up what only shows between two looks. */
export class Sampler {
  readonly samples: Sample[] = [];
  /** To be told of bystanders' reads; every sample takes those since the last one. */
  readonly bystander = new Latencies();
  readonly #client: pg.Client;
  readonly #schema: string | null;
  readonly #segments: RegExp | null;
  readonly #tally: Tally;
  readonly #startMs = performance.now();
  #relations: Relation[] | null = null;
  #bytesReclaimed = 0;
  #rotations: number | null;

  constructor(client: pg.Client, schema: string | null, segments: RegExp | null, tally: Tally) {
    this.#client = client;
    this.#schema = schema;
    this.#segments = segments;
    this.#tally = tally;
    this.#rotations = segments === null ? null : 0;
  }

  async sample(phase: string): Promise<Sample> {
    const relations = await relationsOf(this.#client, this.#schema);
    if (this.#relations !== null) this.#addReclaimed(this.#relations, relations);
    this.#relations = relations;
    const { rows } = await this.#client.query<DatabaseFigures>({ name: "database", text: database });
    const [figures] = rows;
    if (figures === undefined) throw new Error("pg_stat_database has no row for the current database");
    const sum = (pick: (relation: Relation) => number): number =>
      relations.reduce((total, relation) => total + pick(relation), 0);
    const bystander = this.bystander.take();
    const latency = this.#tally.recent.take();
    const sample: Sample = {
      phase,
      seconds: (performance.now() - this.#startMs) / 1000,
      enqueued: this.#tally.enqueued,
      dequeued: this.#tally.dequeued,
      depth: this.#tally.depth,
      liveTuples: sum(({ liveTuples }) => liveTuples),
      deadTuples: sum(({ deadTuples }) => deadTuples),
      bytes: sum(({ bytes }) => bytes),
      indexBytes: sum(({ indexBytes }) => indexBytes),
      bytesReclaimed: this.#bytesReclaimed,
      rotations: this.#rotations,
      autovacuums: sum(({ autovacuums }) => autovacuums),
      xminAge: (await oldestHolderOf(this.#client)).age,
      transactionIds: await nextTransactionId(this.#client),
      ...figures,
      latencyP50Ms: latency?.p50 ?? null,
      latencyP99Ms: latency?.p99 ?? null,
      bystanderP50Ms: bystander?.p50 ?? null,
      bystanderP99Ms: bystander?.p99 ?? null,
    };
    this.samples.push(sample);
    return sample;
  }

  #addReclaimed(before: Relation[], after: Relation[]): void {
    const { bytes, rotations } = reclaimedBetween(before, after, this.#segments);
    this.#bytesReclaimed += bytes;
    if (this.#rotations !== null) this.#rotations += rotations ?? 0;
  }
}
