import type { ConsumerStatus, QueueStatus, Schedule } from "@pgque/client";
import type { Column } from "./table.ts";

// What lists show and `--json` prints of the client's objects, in the command line's one vocabulary: what has a name is called by what it is,
// `queue`, `consumer`, `schedule`, wherever it comes up; how many there are of something ends in Count; what rests is `paused`.

/** A queue at a glance. */
export type QueueRecord = Omit<QueueStatus, "name" | "consumers" | "segments"> & {
  queue: string;
  consumerCount: number;
  segmentCount: number;
};

export function queueRecord({ name: queue, consumers, segments, ...rest }: QueueStatus): QueueRecord {
  return { queue, consumerCount: consumers, segmentCount: segments, ...rest };
}

/** A consumer, with whatever else is known of it. */
export type ConsumerRecord<Known extends ConsumerStatus = ConsumerStatus> = Omit<Known, "name"> & { consumer: string };

export function consumerRecord<Known extends ConsumerStatus>({ queue, name, ...rest }: Known): ConsumerRecord<Known> {
  return { queue, consumer: name, ...rest } as unknown as ConsumerRecord<Known>;
}

/** A schedule. */
export type ScheduleRecord = Omit<Schedule, "name" | "enabled"> & { schedule: string; paused: boolean };

export function scheduleRecord({ name, enabled, ...rest }: Schedule): ScheduleRecord {
  return { schedule: name, ...rest, paused: !enabled };
}

/** Of whatever can be paused. */
export const pausedColumn: Column<{ paused: boolean }> = {
  head: "state",
  cell: ({ paused }) => (paused ? "paused" : ""),
};
