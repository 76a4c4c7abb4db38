import type { SendOptions } from "@pgque/client";

const dayMs = 86_400_000;

/** What a job takes along: its time, its dedupe key until a day after that, and how many attempts it has left. */
export function carried(job: {
  from: string;
  runAt: Date;
  attemptsLeft: number;
  dedupeKey: string | null;
}): SendOptions {
  const untilRunMs = Math.max(0, job.runAt.getTime() - Date.now());
  return {
    at: job.runAt,
    maxRetries: Math.max(0, job.attemptsLeft - 1),
    headers: { moved_from: job.from },
    ...(job.dedupeKey !== null && { dedupeKey: job.dedupeKey, dedupeTtlMs: Math.min(untilRunMs + dayMs, 30 * dayMs) }),
  };
}
