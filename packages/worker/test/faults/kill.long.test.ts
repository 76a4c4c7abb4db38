import type { ChildProcess } from "node:child_process";
import { expect, test } from "vitest";
import { freshDatabase } from "../../../../test/support/database.ts";
import { until } from "../../../../test/support/until.ts";
import { Fleet } from "./fleet.ts";
import type { Verdict } from "./verdict.ts";

test("of four workers one is killed: its messages are back at once, for its connection is gone", async () => {
  await using database = await freshDatabase();
  const admin = await database.connect();
  // the server of the tests may not have run for half a minute yet
  await admin.query(
    "create or replace function pgque.session_grace() returns interval language sql immutable return interval '0 s'",
  );
  const patient = { leaseMs: 600_000, heartbeatIntervalMs: 300_000 };
  await using fleet = await Fleet.start({ url: database.url, readers: 2, options: patient });
  const [first, second] = fleet.workers as [ChildProcess, ChildProcess];
  const inFlight = new Set<string>();
  // until then its lease is all that tells
  for (const victim of [first, second])
    await until(() => fleet.holdsSession(victim), "it has said whose session it holds");
  for (const victim of [first, second])
    for (const message of await killWithSomethingInHand(fleet, victim)) inFlight.add(message);
  expectOnlyAgain(await fleet.verdict(), inFlight);
});

test("of four workers one is killed, which nobody's connection tells: its messages are back when their lease ends", async () => {
  await using database = await freshDatabase();
  await using fleet = await Fleet.start({ url: database.url, readers: 2, options: { listen: false } });
  const [victim] = fleet.workers as [ChildProcess];
  const inFlight = await killWithSomethingInHand(fleet, victim);
  const [reader] = fleet.readers as [ChildProcess];
  await fleet.kill(reader);
  const verdict = await fleet.verdict();
  expectOnlyAgain(verdict, inFlight);
});

/** Halts a worker in a moment in which it holds messages, asks which, and kills it. */
async function killWithSomethingInHand(fleet: Fleet, victim: ChildProcess): Promise<Set<string>> {
  let inFlight = new Set<string>();
  await until(async () => {
    victim.kill("SIGSTOP");
    inFlight = await fleet.inFlight(victim);
    if (inFlight.size === 0) victim.kill("SIGCONT");
    return inFlight.size > 0;
  }, "it holds messages");
  await fleet.kill(victim);
  await fleet.allWork();
  return inFlight;
}

function expectOnlyAgain({ duplicates }: Verdict, inFlight: Set<string>): void {
  expect(duplicates.map(({ what }) => what).filter((what) => !inFlight.has(what))).toEqual([]);
}
