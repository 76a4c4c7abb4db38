import { expect, test } from "vitest";
import { resolveCompareSettings, type CompareOptions } from "#src/scenarios/compare";
import { resolveEngineSettings } from "#src/scenarios/engine/engine";
import type { EngineOptions } from "#src/scenarios/engine/results";
import { BenchOptionError } from "#src/runner/options";
import { resolveSettings, type BenchOptions } from "#src/scenarios/xmin/settings";

test.each<[BenchOptions, string]>([
  [{ rate: -1 }, "expected `rate` to be an integer from 0 to 1000000, got: -1"],
  [{ durationSeconds: 0.5 }, "expected `duration` to be an integer from 1 to 86400, got: 0.5"],
  [{ payloadBytes: 8 }, "expected `payload-bytes` to be an integer from 32 to 1048576, got: 8"],
  [{ postgresMajors: [17, 13] }, "expected `postgres` to be one of 14, 15, 16, 17, 18, got: 13"],
  [
    { horizons: [] },
    "expected `horizons` to be some of none, repeatable-read, idle-in-transaction, prepared, pg-dump, standby-feedback, analytics, retain-dead-tuples, logical-slot, lagging-consumer, got: nothing",
  ],
])("%j is refused in words", (options, message) => {
  expect(() => resolveSettings(options)).toThrow(BenchOptionError);
  expect(() => resolveSettings(options)).toThrow(message);
});

test.each<[EngineOptions, string]>([
  [
    { microbenchmarks: ["speed"] },
    "expected `microbenchmarks` to be some of send, finish, wal, idle, latency, call, backlog, ring, rotation, queues, memory, features, settle, got: speed",
  ],
  [{ microbenchmarks: [] }, "got: nothing"],
  [{ repeat: 0 }, "expected `repeat` to be an integer from 1 to 100, got: 0"],
  [{ postgresMajors: [17, 13] }, "expected `postgres` to be one of 14, 15, 16, 17, 18, got: 13"],
])("engine, %j is refused in words", (options, message) => {
  expect(() => resolveEngineSettings(options)).toThrow(BenchOptionError);
  expect(() => resolveEngineSettings(options)).toThrow(message);
});

test.each<[CompareOptions, string]>([
  [{ horizon: "weather" }, "expected `horizon` to be some of none, repeatable-read"],
  [{ systems: ["pgque", "kafka"] }, "got: kafka"],
  [{ rate: 0 }, "expected `rate` to be an integer from 1 to 1000000, got: 0"],
])("compare, %j is refused in words", (options, message) => {
  expect(() => resolveCompareSettings(options)).toThrow(BenchOptionError);
  expect(() => resolveCompareSettings(options)).toThrow(message);
});

test("a list of majors is taken, each once; not for a server that is given", () => {
  expect(resolveSettings({}).postgresMajors).toEqual([17]);
  expect(resolveSettings({ postgresMajors: [18, 14, 18] }).postgresMajors).toEqual([18, 14]);
  const databaseUrl = "postgres://localhost/postgres";
  expect(resolveSettings({ postgresMajors: [18], databaseUrl }).databaseUrl).toBe(databaseUrl);
  expect(() => resolveSettings({ postgresMajors: [14, 18], databaseUrl })).toThrow(
    "expected `postgres` to be one major at most where a database to use is given (--database-url, DATABASE_URL or PG* variables), got: 14, 18",
  );
  expect(() => resolveSettings({ postgresMajors: [] })).toThrow("some of 14, 15, 16, 17, 18, got: nothing");
});

test("without options it is the published scenario: 800 messages/s, 4 producers, 4 consumers, 3 minutes", () => {
  expect(resolveSettings({})).toMatchObject({
    mode: "paced",
    rate: 800,
    producers: 4,
    consumers: 4,
    heldSeconds: 180,
    repeat: 3,
  });
});

test("quick is saturated unless a rate is asked for", () => {
  expect(resolveSettings({ quick: true })).toMatchObject({ mode: "saturated", heldSeconds: 15, repeat: 1 });
  expect(resolveSettings({ quick: true, rate: 100 })).toMatchObject({ mode: "paced", rate: 100 });
});
