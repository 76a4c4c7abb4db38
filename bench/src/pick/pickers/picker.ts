import type pg from "pg";

/** A job as a worker is given it. */
export interface Job {
  number: number;
  priority: number;
}

/** Called for every job that was picked, while it is held. */
export type Work = (payload: string) => void;

export interface Site {
  /** For the schema and the jobs. */
  admin: pg.Client;
  /** A worker's own connection. */
  connect: (role: string, options?: { synchronousCommit?: "on" | "off" }) => Promise<pg.Client>;
}

/** A way to pick the job with the highest priority, one at a time. */
export interface Picker {
  name: string;
  /** What it does, and where that way of doing it comes from. */
  summary: string;
  /** One line for every choice made for it, with the reason. */
  settings: string[];
  /** What its author has published for 10,000 jobs and eight workers, in seconds, on another machine. */
  publishedSeconds?: number;
  /** Instead of the workers that are asked for. */
  connections?: number;
  /** False: it is no queue, and knows of no priority. Default: true. */
  ordered?: boolean;
  /** Makes its tables, and puts the jobs there. */
  prepare(site: Site, payloads: { priority: number; payload: string }[]): Promise<void>;
  /** A worker: each call picks a job, works on it and finishes it; false when there is none. */
  worker(site: Site, work: Work): Promise<() => Promise<boolean>>;
}
