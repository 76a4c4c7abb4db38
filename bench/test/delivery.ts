import { expect } from "vitest";
import type { TestDatabase } from "../../test/support/database.ts";
import { Background } from "#src/load/background";
import { drain, type Load } from "#src/load/load";
import { payloadDueAt } from "#src/load/messages";
import { Tally } from "#src/load/tally";
import { Latencies } from "#src/measure/histogram";
import type { SqlFiles, System } from "#src/adapters/adapter";

const messages = 10_000;

/** Long enough for any machine: a system that loses a message fails by it, the others never come near. */
export const deliverySecondsMax = 300;

/** Those that need more than npm packages; conformance.services.test.ts has them. */
export const withServices = ["redis-batch", "bullmq", "pgmq", "pgq", "pgq-universal"];

export const noSqlFiles: SqlFiles = { pgmq: null, pgq: null, pgqUniversal: null };

/** Keeps what every message says of itself; here that is its number. */
class Numbers extends Tally {
  readonly numbers: number[] = [];
  override received(dueMs: number): void {
    this.numbers.push(dueMs);
  }
}

/** Sends 10,000 messages, lets four consumers take them, and expects each to have been taken once. */
export async function expectEachDeliveredOnce(system: System, database: TestDatabase, sqlFiles = noSqlFiles) {
  const tally = new Numbers();
  const settings = { producers: 2, consumers: 4, batch: 100, sendBatch: 50, idlePollMs: 5, rotation: null, sqlFiles };
  const admin = await database.connect();
  const connect = () => database.connect();
  const running = await system.open({ ...settings, admin, connect, url: database.url, tally });
  try {
    for (let first = 0; first < messages; first += settings.sendBatch) {
      const payloads = Array.from({ length: settings.sendBatch }, (_, index) => payloadDueAt(first + index, 75));
      await running.send[(first / settings.sendBatch) % 2]?.(payloads);
      tally.sent(payloads.length);
    }
    const load: Load = { ...settings, ...running, tally, payloadBytes: 75, lateness: new Latencies() };
    const beside = new Background(new AbortController().signal);
    if (running.maintain) beside.every(running.maintainSeconds ?? 1, running.maintain);
    await drain(load, deliverySecondsMax, beside.signal);
    await beside.stop();
  } finally {
    await running.close?.();
  }
  expect(tally.dequeued).toBe(messages);
  expect(tally.numbers.sort((a, b) => a - b)).toEqual(Array.from({ length: messages }, (_, number) => number));
}
