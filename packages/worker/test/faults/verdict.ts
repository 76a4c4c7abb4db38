import type { Entry } from "./ledger.ts";

/** What a ledger says of a consumer once everything is drained. */
export interface Verdict {
  /** Committed and not handled. */
  lost: string[];
  /** Handled and never committed. */
  phantom: string[];
  /** Handlings beside the first of each message. */
  duplicates: Entry[];
  /** Handled although an earlier message of its key, which had been committed, was still to come. */
  outOfOrder: string[];
}

/** The law of a consumer: nothing lost, nothing made up; what came twice and what was overtaken is for the test to judge. */
export function verdictOf(entries: readonly Entry[], consumer: string): Verdict {
  const named = (kind: Entry["kind"]): Set<string> =>
    new Set(entries.filter((entry) => entry.kind === kind).map(({ what }) => what));
  const never = new Set([...named("undone"), ...named("refused")]);
  const sending = named("sending");
  const sent = named("sent");
  const handled = entries
    .filter((entry) => entry.kind === "handled" && entry.consumer === consumer)
    .toSorted((one, other) => one.at - other.at);
  const seen = new Set<string>();
  const duplicates = handled.filter(({ what }) => seen.size === seen.add(what).size);
  return {
    lost: [...sent].filter((what) => !seen.has(what)),
    phantom: [...seen].filter((what) => !sending.has(what) || never.has(what)),
    duplicates,
    // a commit whose answer was lost may overlap with the next one: there is no order between them
    outOfOrder: overtaken(handled.filter(({ what }) => sent.has(what))),
  };
}

/** Of each key the messages whose first handling came after that of a later one. */
function overtaken(handled: readonly Entry[]): string[] {
  const latest = new Map<string, number>();
  const seen = new Set<string>();
  const late: string[] = [];
  for (const { what } of handled) {
    if (seen.has(what)) continue;
    seen.add(what);
    const [key = "", number] = what.split("/");
    const before = latest.get(key) ?? -1;
    if (Number(number) < before) late.push(`${what} after ${before}`);
    latest.set(key, Math.max(before, Number(number)));
  }
  return late;
}

/** Loops that wait at least half of 100 ms after a failure, and so cannot fail again any sooner. */
const loops = new Set(["receive failed, will try again", "maintenance failed, will try again"]);
const shortestWaitNs = 45_000_000;

/** Failures that followed each other without a wait in between. */
export function spins(entries: readonly Entry[]): string[] {
  const last = new Map<string, number>();
  const found: string[] = [];
  for (const { kind, what, consumer, pid, at } of entries) {
    if (kind !== "said" || !loops.has(what)) continue;
    const loop = `${pid} ${consumer} ${what}`;
    const before = last.get(loop);
    if (before !== undefined && at - before < shortestWaitNs) found.push(`${loop}, after ${at - before} ns`);
    last.set(loop, at);
  }
  return found;
}

/** How often a handler was called with a message and was not done within a second: its process was ended, halted or without a database. */
export function unfinished(entries: readonly Entry[], consumer: string, what: string): number {
  const its = entries.filter((entry) => entry.consumer === consumer && entry.what === what);
  const isEnd = (end: Entry, { pid, at }: Entry): boolean =>
    end.kind === "handled" && end.pid === pid && end.at >= at && end.at < at + 1_000_000_000;
  return its.filter((begun) => begun.kind === "begun" && !its.some((end) => isEnd(end, begun))).length;
}
