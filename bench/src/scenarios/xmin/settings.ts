import { systemNames } from "../../adapters/registry.ts";
import { sqlFilesOf, type SqlFileOptions } from "../../adapters/support/sql-file.ts";
import { horizonNames } from "../../horizons/registry.ts";
import { payloadBytesMin } from "../../load/messages.ts";
import { integerOption, namesOption, repeatOption, settingsOf, type OptionsOf } from "../../runner/options.ts";

export const xminOptions = {
  durationSeconds: integerOption(
    ["duration <seconds>", "how long the horizon is held in each trial"],
    [1, 86_400],
    180,
    15,
  ),
  rate: integerOption(["rate <messages/s>", "all producers together; 0: as fast as they can"], [0, 1_000_000], 800, 0),
  producers: integerOption(["producers <n>", ""], [1, 100], 4),
  consumers: integerOption(["consumers <n>", ""], [1, 100], 4),
  batch: integerOption(["batch <messages>", "the most one receive returns"], [1, 10_000], 100),
  sendBatch: integerOption(["send-batch <messages>", "in one send"], [1, 10_000], 1, 10),
  payloadBytes: integerOption(["payload-bytes <bytes>", ""], [payloadBytesMin, 1_048_576], 75),
  systems: namesOption(["systems <names>", ""], systemNames, ["pgque", "skip-locked"]),
  horizons: namesOption(["horizons <names>", "who holds the horizon"], horizonNames, ["none", "repeatable-read"]),
  repeat: repeatOption(3, 1),
};

/** What a user of the scenario `xmin` may choose. */
export type BenchOptions = OptionsOf<typeof xminOptions> &
  SqlFileOptions & {
    /** The results.json of an earlier run with the same settings, to compare with. Default: none. */
    baselineFile?: string;
  };

/** The options with every default filled in, and what follows from them. */
export type Settings = ReturnType<typeof resolveSettings>;

/** Throws a BenchOptionError for the first option that cannot be used. */
export function resolveSettings(given: BenchOptions) {
  const { seconds: heldSeconds, ...settings } = settingsOf(xminOptions, given);
  const { quick, rate } = settings;
  const mode: "saturated" | "paced" = rate === 0 ? "saturated" : "paced";
  return {
    ...settings,
    mode,
    cleanSeconds: quick ? Math.min(5, heldSeconds) : Math.min(30, Math.max(1, Math.round(heldSeconds / 6))),
    heldSeconds,
    /** The longest a backlog is given to drain. */
    recoverySecondsMax: quick ? Math.min(10, heldSeconds) : Math.max(10, Math.round(heldSeconds / 2)),
    bystanders: 2,
    bystanderRows: quick ? 100_000 : 1_000_000,
    bystanderRate: 50,
    idlePollMs: 10,
    sampleSeconds: quick ? 1 : 5,
    sqlFiles: sqlFilesOf(given),
    synchronousCommit: "on" as "on" | "off",
    autovacuumNaptimeSeconds: quick ? 1 : 10,
    rotation: rotationFor(quick, heldSeconds),
    baselineFile: given.baselineFile ?? null,
  };
}

/** A trial should see several rotations: at its defaults (null), 64 MiB, Pgque would not rotate in a short one. */
function rotationFor(quick: boolean, heldSeconds: number): { bytes: number; minIntervalSeconds: number } | null {
  if (quick) return { bytes: 4 * 1024 * 1024, minIntervalSeconds: 2 };
  return heldSeconds < 1800 ? { bytes: 8 * 1024 * 1024, minIntervalSeconds: 5 } : null;
}

/** What one trial is expected to take, for the time left; a backlog may take longer. */
export function trialSecondsExpected(settings: Pick<Settings, "cleanSeconds" | "heldSeconds">): number {
  const overheadSeconds = 3;
  return settings.cleanSeconds + settings.heldSeconds + overheadSeconds;
}
