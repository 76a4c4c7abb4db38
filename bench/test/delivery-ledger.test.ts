import { expect, test } from "vitest";
import { DeliveryLedger } from "#src/load/tally";

test.each<[string, number[], number[], string | null]>([
  ["each once, in any order", [1.25, 2.5, 3.75], [3.75, 1.25, 2.5], null],
  ["one too few", [1, 2, 3], [1, 3], "1 of 3 messages were lost"],
  ["one too many", [1, 2], [1, 2, 2], "2 messages were sent, but 3 received: some came twice"],
  ["one lost and one twice", [1, 2, 3, 4], [1, 2, 2, 4], "of 4 messages some were lost, and as many others came twice"],
  ["evenly spaced ones", [1, 2, 3, 4], [2, 2, 3, 3], "of 4 messages some were lost, and as many others came twice"],
])("messages are matched one by one: %s", (_name, sent, received, mismatch) => {
  const ledger = new DeliveryLedger();
  for (const dueMs of sent) ledger.sent(1, dueMs);
  for (const dueMs of received) ledger.received(dueMs);
  expect(ledger.mismatch()).toBe(mismatch);
});

test("messages of one send are due at one time, and a payload tells it to the microsecond", () => {
  const ledger = new DeliveryLedger();
  const dueMs = 86_400_000.123_456;
  ledger.sent(3, dueMs);
  for (let n = 0; n < 3; n += 1) ledger.received(Number(dueMs.toFixed(3)));
  expect(ledger.mismatch()).toBeNull();
});

test("while some may be waiting only a surplus is wrong", () => {
  const ledger = new DeliveryLedger();
  ledger.sent(2, 1);
  expect(ledger.surplus()).toBeNull();
  for (let n = 0; n < 3; n += 1) ledger.received(1);
  expect(ledger.surplus()).toBe("2 messages were sent, but 3 received: some came twice");
});
