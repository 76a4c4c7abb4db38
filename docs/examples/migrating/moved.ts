import type { Message, SendOptions } from "@pgque/client";
import { UnrecoverableError, type Handler } from "@pgque/worker";

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
    headers: { moved_from: job.from, attempts_left: job.attemptsLeft },
    ...(job.dedupeKey !== null && { dedupeKey: job.dedupeKey, dedupeTtlMs: Math.min(untilRunMs + dayMs, 30 * dayMs) }),
  };
}

/** A handler under which a moved job has the attempts that it had left. When the last of them is handled, so is this. */
export function withAttemptsLeft<Received extends Message>(handler: Handler<Received>): Handler<Received> {
  return async (message, context) => {
    try {
      return await handler(message, context);
    } catch (error) {
      const attemptsLeft = message.headers["attempts_left"];
      if (typeof attemptsLeft !== "number" || message.attempt < attemptsLeft) throw error;
      throw new UnrecoverableError(`its attempts were used up: ${String(error)}`, { cause: error });
    }
  };
}
