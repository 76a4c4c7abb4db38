import { describe, expect, test } from "vitest";
import { holderFinding } from "#src/doctor/horizon";
import { versionFinding } from "#src/doctor/schema";
import { connectionsFinding, locksFinding, settingFindings } from "#src/doctor/settings";
import type { Holder } from "@pgque/client/horizon";
import { showAge } from "#src/output/duration";

const slot: Holder = {
  kind: "replication slot",
  name: "s",
  holds: "catalog",
  ageTransactions: 10,
  ageMs: null,
  isActive: false,
  details: { type: "logical", walStatus: "reserved", retainedWalBytes: 1024 },
  endsWith: "select pg_drop_replication_slot('s')",
  endsWhere: null,
};
const transaction: Holder = {
  ...slot,
  kind: "transaction",
  holds: "tables",
  ageMs: 0,
  details: { state: "active" },
};
const severity = (holder: Holder) => holderFinding(holder, 60_000)?.severity;

describe("a holder of the horizon", () => {
  test.each([
    [59, undefined],
    [60, "warning"],
    [599, "warning"],
    [600, "problem"],
  ])("a transaction of %d s is %s, with a limit of 60", (seconds, expected) => {
    expect(severity({ ...transaction, ageMs: seconds * 1000 })).toBe(expected);
    expect(severity({ ...transaction, kind: "prepared transaction", ageMs: seconds * 1000 })).toBe(expected);
  });

  test.each<[Holder, string | undefined, string]>([
    [transaction, undefined, "a transaction whose time is hidden"],
    [{ ...slot, isActive: true }, undefined, "a slot in use"],
    [{ ...transaction, kind: "standby" }, "ok", "a standby, which is named before it hurts"],
    [{ ...slot, isActive: true, holds: "tables" }, "ok", "a standby's slot"],
  ])("%#: without a time the transactions since then count", (holder, before) => {
    expect(severity({ ...holder, ageMs: null, ageTransactions: 99_999 })).toBe(before);
    expect(severity({ ...holder, ageMs: null, ageTransactions: 100_000 })).toBe("warning");
    expect(severity({ ...holder, ageMs: null, ageTransactions: 500_000_000 })).toBe("problem");
  });

  test("a slot that nobody reads warns for its WAL, and is a problem once it loses it", () => {
    expect(severity(slot)).toBe("ok");
    expect(severity({ ...slot, details: { ...slot.details, retainedWalBytes: 2 ** 30 } })).toBe("warning");
    expect(severity({ ...slot, details: { ...slot.details, walStatus: "lost" } })).toBe("problem");
    expect(severity({ ...slot, holds: "tables" })).toBe("warning");
  });
});

test.each([
  [null, "problem", "not installed"],
  ["0.1.0", "ok", "version 0.1.0"],
  ["0.1.9", "ok", "version 0.1.9"],
  ["0.2.0", "problem", "use the pgque package of version 0.2.0"],
  ["0.0.9", "problem", "pgque install"],
])("a schema of version %s is %s", (version, expected, text) => {
  const finding = versionFinding("pgque", version);
  expect(finding.severity).toBe(expected);
  expect(JSON.stringify(finding)).toContain(text);
});

test("settings that hurt are told, unknown ones are not", () => {
  const good = { autovacuum: "on", fsync: "on", synchronous_commit: "on", old_snapshot_threshold: "-1" };
  expect(settingFindings(new Map(Object.entries(good)))).toEqual([]);
  expect(settingFindings(new Map())).toEqual([]);
  const bad = { autovacuum: "off", old_snapshot_threshold: "60", track_activities: "off" };
  expect(settingFindings(new Map(Object.entries(bad))).map(({ severity, found }) => [severity, found])).toEqual([
    ["problem", "autovacuum is off"],
    ["warning", "track_activities is off"],
    ["warning", "old_snapshot_threshold is 60"],
  ]);
});

test("room for connections and locks is told before it is used up", () => {
  expect(connectionsFinding(79, 100)).toEqual([]);
  expect(connectionsFinding(80, 100)).toMatchObject([{ severity: "warning" }]);
  expect(connectionsFinding(95, 100)).toMatchObject([{ severity: "problem" }]);
  expect(locksFinding(3199, 6400, 64)).toEqual([]);
  expect(locksFinding(3200, 6400, 64)).toMatchObject([{ severity: "warning" }]);
  expect(locksFinding(12_000, 6400, 64)).toMatchObject([
    { severity: "problem", fix: ["alter system set max_locks_per_transaction = 256", "-- and restart the server"] },
  ]);
});

test.each([
  [0, "0s"],
  [59.4, "59s"],
  [60, "1m"],
  [3661, "1h1m"],
  [86_400, "1d"],
  [90_000, "1d1h"],
])("%d seconds are %s", (seconds, text) => {
  expect(showAge(seconds * 1000)).toBe(text);
});
