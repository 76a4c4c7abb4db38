import { readFile } from "node:fs/promises";
import { BenchOptionError } from "../../runner/options.ts";
import type { Settings } from "../../scenarios/xmin/settings.ts";
import { resultsVersion } from "../results.ts";
import type { CellResult, Results } from "../../scenarios/xmin/results.ts";

/** What two runs must have in common for their figures to be compared, by the name of its option. */
const decisive: Record<string, (settings: Partial<Settings>) => unknown> = {
  quick: (settings) => settings.quick,
  duration: (settings) => settings.heldSeconds,
  rate: (settings) => settings.rate,
  producers: (settings) => settings.producers,
  consumers: (settings) => settings.consumers,
  batch: (settings) => settings.batch,
  "send-batch": (settings) => settings.sendBatch,
  "payload-bytes": (settings) => settings.payloadBytes,
};

/**
 * The results.json of an earlier run, to compare this one with. Throws a BenchOptionError when it cannot be read or is of something
 * else: another scenario, another version of the format, settings under which figures differ whatever the code does.
 */
export async function readBaseline(file: string, scenario: string, settings: Settings): Promise<Results> {
  const earlier = await parsed(file);
  const refuse = (expected: string, got: string): BenchOptionError => new BenchOptionError("baseline", expected, got);
  if (earlier.schemaVersion !== resultsVersion) {
    throw refuse(`a results.json of schemaVersion ${resultsVersion}`, `schemaVersion ${String(earlier.schemaVersion)}`);
  }
  if (earlier.scenario !== scenario) {
    throw refuse(`a results.json of the scenario ${scenario}`, `one of the scenario ${String(earlier.scenario)}`);
  }
  if (!Array.isArray(earlier.cells) || typeof earlier.settings !== "object") {
    throw refuse("a results.json with settings and cells", "one without");
  }
  const there: Partial<Settings> = earlier.settings;
  const different = Object.entries(decisive).flatMap(([option, of]) =>
    of(there) === of(settings) ? [] : [`${option} ${String(of(there))} (this run: ${String(of(settings))})`],
  );
  if (different.length > 0) throw refuse("a run with the same settings as this one", different.join(", "));
  const common = earlier.cells.some(
    ({ system, horizon }) => settings.systems.includes(system) && settings.horizons.includes(horizon),
  );
  if (!common) {
    const wanted = `${settings.systems.join(", ")} under ${settings.horizons.join(", ")}`;
    throw refuse(`a run with at least one cell of ${wanted}`, "one without");
  }
  return { ...(earlier as Results), cells: earlier.cells.map(ofToday) };
}

async function parsed(file: string): Promise<Partial<Results>> {
  try {
    const json: unknown = JSON.parse(await readFile(file, "utf8"));
    if (typeof json === "object" && json !== null) return json;
    throw new Error("it holds no object");
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new BenchOptionError("baseline", "the results.json of an earlier run", `${file}: ${reason}`);
  }
}

const notRunBecause = "not run, because ";

/** Before there was the field `notRun` its reason was an error that began so. */
function ofToday(cell: CellResult): CellResult {
  const { error, notRun } = cell;
  if (notRun !== undefined) return cell;
  const reason = error?.startsWith(notRunBecause) ? error.slice(notRunBecause.length) : null;
  return { ...cell, notRun: reason, error: reason === null ? error : null };
}
