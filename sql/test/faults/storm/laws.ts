import type { DeadLetter, Delivery, Ledger } from "./ledger.ts";

/** A way in which a message may come again: by how much its attempt grows, and when at the earliest. */
interface WayBack {
  attempts: number;
  notBefore: number;
}

/**
 * What a ledger says against the engine once everything is drained; nothing, if all is well:
 * - every committed message was acked by every consumer, or is its dead letter; no rolled-back one was ever seen
 * - none came before it was due
 * - none came again but after a nack, a snooze, a release or the end of a lease, with the attempt that follows from it
 * - an ack that was confirmed is the end of a message
 */
export function brokenLaws(ledger: Ledger, consumers: string[], dead: DeadLetter[], maxRetries: number): string[] {
  const broken: string[] = [];
  for (const delivery of ledger.deliveries) {
    const sent = ledger.sent.get(delivery.payload);
    if (sent === undefined || sent.fate === "rolled back") broken.push(`phantom: ${describe(delivery)}`);
    else if (delivery.at < sent.dueAt) broken.push(`early, due at ${sent.dueAt}: ${describe(delivery)}`);
  }
  for (const consumer of consumers) {
    const chains = chainsOf(ledger, consumer);
    for (const [payload, chain] of chains) broken.push(...brokenInChain(ledger, payload, chain));
    const letters = Map.groupBy(
      dead.filter((letter) => letter.consumer === consumer),
      ({ payload }) => payload,
    );
    for (const [payload, { fate }] of ledger.sent) {
      const said = endOf(chains.get(payload)?.at(-1), letters.get(payload) ?? [], maxRetries);
      if (said !== "fine" && !(said === "missing" && fate !== "committed"))
        broken.push(
          `${said} for ${consumer}: ${payload.trim()} ${(chains.get(payload) ?? []).map(describe).join(", ")}`,
        );
    }
  }
  return broken;
}

/** Payload → its deliveries in the order of their batches, which are numbered under the cursor's lock. */
function chainsOf(ledger: Ledger, consumer: string): Map<string, Delivery[]> {
  const counted = ledger.deliveries.filter((one) => one.consumer === consumer && one.transaction !== "rolled back");
  const chains = Map.groupBy(counted, ({ payload }) => payload);
  const number = (one: Delivery): number => Number(BigInt(one.batch) >> 36n);
  for (const chain of chains.values()) chain.sort((x, y) => number(x) - number(y));
  return chains;
}

function brokenInChain(ledger: Ledger, payload: string, chain: Delivery[]): string[] {
  const broken: string[] = [];
  const first = chain[0] as Delivery;
  if (!isExplained(ledger, [{ attempts: 0, notBefore: 0 }], 1, first)) broken.push(`first attempt: ${describe(first)}`);
  for (const [i, one] of chain.entries()) {
    if (one.id !== first.id) broken.push(`${payload} has two ids: ${describe(first)} and ${describe(one)}`);
    if (one.ends.filter(({ certain }) => certain).length > 1) broken.push(`settled twice: ${describe(one)}`);
    const next = chain[i + 1];
    if (next !== undefined && !isExplained(ledger, waysBack(one), one.attempt, next))
      broken.push(`came again without a reason: ${describe(one)}, then ${describe(next)}`);
  }
  return broken;
}

function waysBack(delivery: Delivery): WayBack[] {
  const certain = delivery.ends.find((end) => end.certain);
  const ways = (certain ? [certain] : delivery.ends)
    .filter(({ how }) => how !== "ack" && how !== "bury")
    .map(({ how, notBefore }) => ({ attempts: how === "nack" ? 1 : 0, notBefore }));
  if (!certain) ways.push({ attempts: 1, notBefore: delivery.leaseUntil });
  // it may not have been delivered at all
  if (delivery.transaction === "unknown") ways.push({ attempts: 0, notBefore: 0 });
  return ways;
}

/** A receive whose answer was lost may have had the message in between: its lease ended, which is one attempt. */
function isExplained(ledger: Ledger, ways: WayBack[], attempt: number, next: Delivery): boolean {
  const lost = ledger.lost.filter(({ consumer, askedAt }) => consumer === next.consumer && askedAt <= next.at).length;
  return ways.some(({ attempts, notBefore }) => {
    const unseen = next.attempt - attempt - attempts;
    return unseen >= 0 && unseen <= lost && next.at >= notBefore;
  });
}

/** How a message ended, given its last delivery and its dead letters. */
function endOf(last: Delivery | undefined, letters: DeadLetter[], maxRetries: number): string {
  const acked = last?.ends.find(({ how }) => how === "ack");
  const buried = last?.ends.some(({ how }) => how === "bury");
  if (letters.length === 0) return acked ? "fine" : "missing";
  if (letters.length > 1) return `${letters.length} dead letters`;
  if (letters[0]?.attempt !== maxRetries + 1 && !(buried && letters[0]?.attempt === last?.attempt))
    return `dead at attempt ${letters[0]?.attempt}`;
  return acked?.certain && last?.transaction === "committed" ? "dead though acked" : "fine";
}

function describe({ consumer, batch, payload, attempt, at, leaseUntil, transaction, ends }: Delivery): string {
  const ended = ends.map(({ how, certain, notBefore }) => `${how}${certain ? "" : "?"} until ${notBefore}`).join("+");
  return `[${consumer} ${payload.trim()} attempt ${attempt} at ${at}, batch ${BigInt(batch) >> 36n} ${transaction}, leased until ${leaseUntil}, ${ended}]`;
}
