import { expect, test } from "vitest";
import { freshDatabase } from "../../test/support/database.ts";
import { drain } from "#src/load/drain";
import type { Load } from "#src/load/load";
import { payloadDueAt } from "#src/load/payload";
import { Tally } from "#src/load/tally";
import { Latencies } from "#src/measure/histogram";
import { systems } from "#src/registry";

const messages = 10_000;

/** Keeps what every message says of itself; here that is its number. */
class Numbers extends Tally {
  readonly numbers: number[] = [];
  override received(dueMs: number): void {
    this.numbers.push(dueMs);
  }
}

test.each(systems.map((system) => [system.name, system] as const))(
  "%s delivers each of 10,000 messages exactly once to four consumers",
  async (_name, system) => {
    await using database = await freshDatabase();
    const tally = new Numbers();
    const workload = { producers: 2, consumers: 4, batch: 100, sendBatch: 50, idlePollMs: 5, rotation: null };
    const admin = await database.connect();
    const running = await system.open({
      ...workload,
      admin,
      connect: () => database.connect(),
      url: database.url,
      tally,
    });
    for (let first = 0; first < messages; first += workload.sendBatch) {
      const payloads = Array.from({ length: workload.sendBatch }, (_, index) => payloadDueAt(first + index, 75));
      await running.send[(first / workload.sendBatch) % 2]?.(payloads);
      tally.sent(payloads.length);
    }
    const load: Load = { ...workload, ...running, tally, payloadBytes: 75, lateness: new Latencies() };
    await drain(load, 20, new AbortController().signal);
    await running.close?.();

    expect(tally.dequeued).toBe(messages);
    expect(tally.numbers.sort((a, b) => a - b)).toEqual(Array.from({ length: messages }, (_, number) => number));
  },
);
