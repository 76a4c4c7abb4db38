import { systemNames } from "../../adapters/registry.ts";
import { sqlFilesOf, type SqlFileOptions } from "../../adapters/support/sql-file.ts";
import { horizonNames } from "../../horizons/registry.ts";
import { payloadBytesMin } from "../../load/messages.ts";
import { integerOption, namesOption, settingsOf, type OptionsOf } from "../../runner/options.ts";

const options = {
  /** The held phase of a cell. */
  durationSeconds: integerOption("duration", [1, 86_400], 180, 15),
  /** Messages a second, all producers together; 0 is saturated (closed loop). */
  rate: integerOption("rate", [0, 1_000_000], 800, 0),
  producers: integerOption("producers", [1, 100], 4),
  consumers: integerOption("consumers", [1, 100], 4),
  /** The most messages one receive returns. */
  batch: integerOption("batch", [1, 10_000], 100),
  /** Messages in one send. */
  sendBatch: integerOption("send-batch", [1, 10_000], 1, 10),
  payloadBytes: integerOption("payload-bytes", [payloadBytesMin, 1_048_576], 75),
  systems: namesOption("systems", systemNames, ["pgque", "skip-locked"]),
  horizons: namesOption("horizons", horizonNames, ["none", "repeatable-read"]),
  /** How often the whole matrix is run. */
  repeat: integerOption("repeat", [1, 100], 3, 1),
};

/** What a user of the scenario `xmin` may choose. */
export type BenchOptions = OptionsOf<typeof options> &
  SqlFileOptions & {
    /** The results.json of an earlier run with the same settings, to compare with. Default: none. */
    baselineFile?: string;
  };

/** The options with every default filled in, and what follows from them. */
export type Settings = ReturnType<typeof resolveSettings>;

/** Throws a BenchOptionError for the first option that cannot be used. */
export function resolveSettings(given: BenchOptions) {
  const { seconds: heldSeconds, ...settings } = settingsOf(options, given);
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

/** A cell should see several rotations: at its defaults (null), 64 MiB, Pgque would not rotate in a short one. */
function rotationFor(quick: boolean, heldSeconds: number): { bytes: number; minIntervalSeconds: number } | null {
  if (quick) return { bytes: 4 * 1024 * 1024, minIntervalSeconds: 2 };
  return heldSeconds < 1800 ? { bytes: 8 * 1024 * 1024, minIntervalSeconds: 5 } : null;
}

/** What one cell is expected to take, for the time left; a backlog may take longer. */
export function cellSecondsExpected(settings: Pick<Settings, "cleanSeconds" | "heldSeconds">): number {
  const overheadSeconds = 3;
  return settings.cleanSeconds + settings.heldSeconds + overheadSeconds;
}
