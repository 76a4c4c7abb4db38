import type { ChildProcess } from "node:child_process";
import { expect, test } from "vitest";
import { freshDatabase } from "../../../../test/support/database.ts";
import { until } from "../../../../test/support/until.ts";
import { Fleet } from "./fleet.ts";

const leaseLost = "lease lost: messages that were handled come again";

test("a worker that was halted longer than its lease cannot ack what another has by now", async () => {
  await using database = await freshDatabase();
  await using fleet = await Fleet.start({ url: database.url, workers: 2, senders: 0 });
  const [one, other] = fleet.workers as [ChildProcess, ChildProcess];
  await fleet.send("held");
  const holds = (pid?: number) => fleet.ledger.count("begun", { what: "held", ...(pid && { pid }) });
  await until(() => holds() === 1, "one of them handles it");
  const [zombie, heir] = holds(one.pid) === 1 ? [one, other] : [other, one];

  zombie.kill("SIGSTOP");
  await until(() => holds(heir.pid) === 1, "its lease has ended, and the other handles it");
  fleet.open(zombie);
  zombie.kill("SIGCONT");
  const refused = () => fleet.ledger.count("said", { what: leaseLost, pid: zombie.pid ?? 0 });
  await until(() => refused() === 1, "it is done, and its ack is refused");

  // had the ack been taken, nobody would have the message after this
  await fleet.kill(heir);
  await until(() => holds(zombie.pid) === 2, "the message is still to be handled, and comes back to the first");
  await until(() => fleet.ledger.count("handled", { pid: zombie.pid ?? 0 }) === 2, "which handles it");
  const { duplicates } = await fleet.verdict();
  expect(duplicates.map(({ what }) => what)).toEqual(["held"]);
});

test("workers that are halted again and again, in the midst of traffic, lose nothing", async () => {
  await using database = await freshDatabase();
  await using fleet = await Fleet.start({ url: database.url });
  const inFlight = new Set<string>();
  for (const zombie of fleet.workers.slice(0, 3)) {
    zombie.kill("SIGSTOP");
    for (const message of await fleet.inFlight(zombie)) inFlight.add(message);
    await until(async () => (await fleet.inFlight(zombie)).size === 0, "all that it holds is taken from it");
    zombie.kill("SIGCONT");
    await fleet.allWork();
  }
  const { duplicates } = await fleet.verdict();
  expect(duplicates.map(({ what }) => what).filter((what) => !inFlight.has(what))).toEqual([]);
});
