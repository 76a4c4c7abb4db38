import { expect, test } from "vitest";
import {
  ratesPlan,
  ratesRows,
  resolveRatesSettings,
  type RatesOptions,
  type RatesResults,
} from "#src/scenarios/rates/rates";
import { BenchOptionError } from "#src/runner/options";

test.each<[RatesOptions, string]>([
  [{ rates: ["fast"] }, "expected `rates` to be integers from 1 to 100000, idle or saturated, got: fast"],
  [{ rates: ["0"] }, "got: 0"],
  [{ rates: [] }, "got: nothing"],
  [{ workers: [0] }, "expected `workers` to be an integer from 1 to 1000, got: 0"],
])("rates, %j is refused in words", (options, message) => {
  expect(() => resolveRatesSettings(options)).toThrow(BenchOptionError);
  expect(() => resolveRatesSettings(options)).toThrow(message);
});

const settings = resolveRatesSettings({
  rates: ["idle", "100"],
  workers: [1, 10],
  systems: ["pgque", "skip-locked"],
  repeat: 2,
});

test("systems are measured in turn at each rate, and who comes first changes from repeat to repeat", () => {
  expect(
    ratesPlan(settings).map(({ repeat, workers, rate, system }) => `${repeat} ${workers} ${rate} ${system}`),
  ).toEqual([
    "1 1 idle pgque",
    "1 1 idle skip-locked",
    "1 1 100 pgque",
    "1 1 100 skip-locked",
    "1 10 idle pgque",
    "1 10 idle skip-locked",
    "1 10 100 pgque",
    "1 10 100 skip-locked",
    "2 1 idle skip-locked",
    "2 1 idle pgque",
    "2 1 100 skip-locked",
    "2 1 100 pgque",
    "2 10 idle skip-locked",
    "2 10 idle pgque",
    "2 10 100 skip-locked",
    "2 10 100 pgque",
  ]);
});

test("CPU is compared by message, and by second where there are none", () => {
  const used = (system: string, rate: string, messages: number, seconds: number, serverCpuSeconds: number) => ({
    system,
    workers: 1,
    rate,
    repeat: 1,
    postgres: "17.10",
    skipped: null,
    error: null,
    figures: { messages, seconds, serverCpuSeconds, workerCpuSeconds: 1, latencyMs: null, receives: null },
  });
  const trials = [
    used("pgque", "idle", 0, 10, 0.1),
    used("skip-locked", "idle", 0, 20, 0.1),
    used("pgque", "100", 1000, 10, 1),
    used("skip-locked", "100", 500, 10, 1),
  ];
  const rows = ratesRows({ settings: { ...settings, workers: [1] }, trials } as unknown as RatesResults);
  expect(rows.map(({ system, rate, ratio }) => [system, rate, ratio?.median])).toEqual([
    ["pgque", "idle", 1],
    ["skip-locked", "idle", 2],
    ["pgque", "100", 1],
    ["skip-locked", "100", 0.5],
  ]);
});
