import { PgqueError } from "@pgque/client";

/**
 * Calls the database with a signal that is aborted when the answer takes longer: the call is cancelled then, and its connection given up.
 * Whether it took effect is not known.
 */
export async function answered<T>(limitMs: number, call: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const aborter = new AbortController();
  const timer = setTimeout(() => aborter.abort(noAnswer(limitMs)), limitMs);
  try {
    return await call(aborter.signal);
  } finally {
    clearTimeout(timer);
  }
}

/** Waits for an answer; when it takes longer throws, and whoever asked gives up the connection. */
export async function within<T>(limitMs: number, answer: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    // the answer may be there and not have been read, by a process that was busy or halted for so long
    timer = setTimeout(() => setImmediate(() => reject(noAnswer(limitMs))), limitMs);
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
}

function noAnswer(limitMs: number): PgqueError {
  return new PgqueError("CONNECTION_LOST", `expected the database to answer within ${limitMs} ms, it did not`, {
    hint: "The connection may be gone without anybody having been told. If statements do take that long, raise `queryTimeoutMs`",
  });
}
