import { expect, test } from "vitest";
import { BenchOptionError } from "#src/runner/options";
import {
  receiveOutcomes,
  resolveReceiveSettings,
  type ReceiveOptions,
  type ReceiveResults,
} from "#src/scenarios/receive";

test.each<[ReceiveOptions, string]>([
  [{ sizes: [-1] }, "expected `sizes`"],
  [{ batches: 0 }, "expected `batches` to be an integer from 1 to 100000, got: 0"],
  [{ systems: ["kafka"] }, "expected `systems` to be some of pgque, pgque-next, pgque-exclusive, skip-locked"],
])("receive, %j is refused in words", (options, message) => {
  expect(() => resolveReceiveSettings(options)).toThrow(BenchOptionError);
  expect(() => resolveReceiveSettings(options)).toThrow(message);
});

test("targets are compared with the median of the ratios within each repeat, with nothing held", () => {
  const figures = (clean: number) => ({
    clean: [{ messages: 1, wallMicros: clean, cpuMicros: null }],
    held: [{ messages: 1, wallMicros: 1, cpuMicros: null }],
  });
  const trial = (system: string, repeat: number, clean: number) => ({
    system,
    repeat,
    postgres: "17.10",
    skipped: null,
    error: null,
    figures: figures(clean),
  });
  const trials = [1, 2, 3].flatMap((repeat) => [
    trial("pgque", repeat, 100 * repeat),
    trial("pgque-next", repeat, 80 * repeat),
    trial("pgque-exclusive", repeat, 130 * repeat),
    trial("skip-locked", repeat, 100),
  ]);
  const settings = { sizes: [1], systems: ["pgque", "pgque-next", "pgque-exclusive", "skip-locked"] };
  const outcomes = receiveOutcomes({ trials, settings } as unknown as ReceiveResults);
  expect(outcomes.map(({ what, target, measured, verdict }) => [what, target, measured, verdict])).toEqual([
    ["1 a batch, pgque / skip-locked", "≤ 1.05", "2.00 (1.00–3.00)", "not met"],
    ["1 a batch, pgque-next / skip-locked", "≤ 0.90", "1.60 (0.80–2.40)", "not met"],
    ["1 a batch, exclusive / shared", "≤ 1.20", "1.30", "not met"],
  ]);
});
