import { readFileSync } from "node:fs";
import path from "node:path";
import type { Sample } from "#src/measure/sampler";
import type { TrialSamples, Results } from "#src/scenarios/xmin/results";

/** A run as it was written: what its reports are made of. Samples of before a figure was sampled do not have it. */
export function runOf(folder: string): { results: Results; samples: TrialSamples[] } {
  const read = (file: string): string => readFileSync(path.join(folder, file), "utf8");
  const results = JSON.parse(read("results.json")) as Results;
  const [heads = [], ...lines] = read("samples.csv")
    .trim()
    .split("\n")
    .map((line) => line.split(","));
  const text = new Set(["system", "horizon", "phase", "postgres"]);
  const value = (head: string, written: string): string | number | null => {
    if (text.has(head)) return written;
    return written === "" ? null : Number(written);
  };
  const rows = lines.map((line) => {
    const entries = heads.map((head, index) => [head, value(head, line[index] ?? "")]);
    return { bystanderP50Ms: null, bystanderP99Ms: null, ...Object.fromEntries(entries) } as Sample &
      Omit<TrialSamples, "samples">;
  });
  const samples = results.trials.map(({ postgres, system, horizon, repeat }) => ({
    postgres,
    system,
    horizon,
    repeat,
    samples: rows.filter((row) => row.system === system && row.horizon === horizon && row.repeat === repeat),
  }));
  return { results, samples };
}
