import { systemNamed } from "../../adapters/registry.ts";
import { horizonNamed, serverSettingsFor } from "../../horizons/registry.ts";
import { described, headed, list, overTime, prose } from "../../report/document.ts";
import { bytes, clock, micros, ms, spread, whole } from "../../report/format.ts";
import { chartGroup } from "../../report/html/chart-trial.ts";
import { measuresNamed } from "../../report/html/measures.ts";
import { reportedSettings } from "../../report/results.ts";
import { caveatsOf, noise, figureOf, reporting, type ScenarioReport } from "../../report/scenario-report.ts";
import { reportRows, type Column } from "../../report/table.ts";
import {
  keepSampled,
  measuredTrial,
  outcomeText,
  repeatText,
  rowOf,
  samplesFile,
  someFailed,
  systemsInTurn,
  type Trial,
  type TrialResults,
  type FiguresRow,
  type Sampled,
} from "../../runner/trials.ts";
import { runScenario, type Run, type RunHooks } from "../../runner/run.ts";
import type { Scenario, StepContext } from "../../runner/scenario.ts";
import type { TrialPlan } from "../xmin/results.ts";
import {
  bytesPerHourMax,
  deadTuplesPerMessageMax,
  driftMeasures,
  hoursMin,
  p99ShareMax,
  type Drift,
  type DriftName,
  type SoakSample,
} from "./drift.ts";
import {
  measureSoak,
  resolveSoakSettings,
  soakPhase,
  type SoakFigures,
  type SoakOptions,
  type SoakSettings,
} from "./measure.ts";

/** One system under one horizon, once. */
export type SoakTrial = Trial<TrialPlan, SoakFigures>;
export type SoakResults = TrialResults<SoakSettings, SoakTrial>;
type SampledSoak = Sampled<SoakTrial, SoakSample>;

/** Half an hour is the least that says something. */
const conclusiveSeconds = 1800;
const overheadSeconds = 5;

const soak: Scenario<SoakOptions, SoakSettings, TrialPlan, SampledSoak, SoakResults> = {
  name: "soak",
  resolve: resolveSoakSettings,
  serverSettings: ({ horizons }) => serverSettingsFor(horizons),
  results: (head, settings, server) => ({
    ...head,
    settings: reportedSettings(settings, settings.seconds < conclusiveSeconds, server),
    trials: [],
    interrupted: false,
  }),
  plan: ({ horizons, ...settings }) =>
    systemsInTurn(settings).flatMap(({ system, repeat }) => horizons.map((horizon) => ({ system, horizon, repeat }))),
  measure: soakTrial,
  keep: keepSampled,
  ...reporting(soakReport),
  files: samplesFile,
  failed: someFailed,
  headline: ({ settings }, trials) =>
    `${trials.length} trial(s) of ${clock(settings.seconds)}, ${settings.rate} messages/s,\n` +
    `${settings.producers} producers, ${settings.consumers} consumers`,
  stepSeconds: ({ seconds }) => seconds + overheadSeconds,
  stepText: ({ system, horizon, repeat }) => `${system}, ${horizon}${repeatText(repeat)}`,
  measuredText: ({ trial }) => outcomeText(trial, driftText),
};

/** Runs systems at a steady rate for half an hour or longer each, and says what of them drifts. See runScenario. */
export function runSoak(given: SoakOptions, hooks: RunHooks = {}): Promise<Run<SoakResults>> {
  return runScenario(soak, given, hooks);
}

/** One that is stopped has no figures, but keeps its samples: they may be those of hours. */
async function soakTrial(plan: TrialPlan, context: StepContext<SoakSettings>): Promise<SampledSoak> {
  const samples: SoakSample[] = [];
  try {
    return { trial: await measuredTrial(plan, context, () => measureSoak(plan, context, samples)), samples };
  } catch (error) {
    const last = samples.at(-1);
    if (last === undefined) throw error;
    const stopped = `stopped after ${clock(last.seconds)}`;
    const { version } = context.server;
    return { trial: { ...plan, postgres: version, figures: null, skipped: null, error: stopped }, samples };
  }
}

/** What grows in a trial, and what does not. */
function driftText({ drifts }: SoakFigures): string {
  return (["grows", "flat", "too short to say"] as const)
    .flatMap((verdict) => {
      const own = drifts.filter((drift) => drift.verdict === verdict);
      const texts = own.map((drift) => {
        const { title } = driftMeasures[drift.measure];
        return verdict === "grows" ? `${title} by ${perHourText(drift)} an hour` : title;
      });
      return texts.length === 0 ? [] : [`${verdict}: ${texts.join(", ")}`];
    })
    .join("; ");
}

/** A slope with its range, in the unit of the measure. */
function perHourText({ measure, perHour }: Drift): string {
  const { format } = driftMeasures[measure];
  return spread(perHour, (value) => (value < 0 ? `-${format(-value)}` : format(value)));
}

/** All repeats of one system under one horizon, or one measure of one trial; the name has the repeat then, where there are several. */
interface SoakRow<Measured> extends FiguresRow<Measured> {
  system: string;
  horizon: string;
}

/** In the order of the settings, systems together. */
function soakRows({ trials, settings }: SoakResults): SoakRow<SoakFigures>[] {
  return settings.systems.flatMap((system) =>
    settings.horizons.flatMap((horizon): SoakRow<SoakFigures>[] => {
      const row = rowOf(trials.filter((trial) => trial.system === system && trial.horizon === horizon));
      return row === null ? [] : [{ ...row, system, horizon }];
    }),
  );
}

/** In the order in which trials were run; of a trial without figures one row that says why. */
function driftRows({ trials }: SoakResults): SoakRow<Drift>[] {
  return trials.flatMap(({ system, repeat, horizon, figures, ...reasons }): SoakRow<Drift>[] => {
    const trial = { system: system + repeatText(repeat), horizon };
    const row = rowOf<Drift>([{ ...reasons, figures: null }]);
    if (figures === null) return row === null ? [] : [{ ...row, ...trial }];
    return figures.drifts.map((drift) => ({ ...trial, measured: [drift], errors: [], skipped: [] }));
  });
}

const identity: Column<SoakRow<unknown>>[] = [
  { head: "system", cell: ({ system }) => system },
  { head: "horizon held by", cell: ({ horizon }) => horizon },
];

/** Of a row with a measure. */
const of =
  (text: (drift: Drift) => string) =>
  ({ measured }: SoakRow<Drift>): string =>
    measured.map(text).join("");

/** The answer. */
const driftColumns: Column<SoakRow<Drift>>[] = [
  ...identity,
  { head: "measure", cell: of(({ measure }) => driftMeasures[measure].title) },
  { head: "median", cell: of(({ measure, typical }) => driftMeasures[measure].format(typical)) },
  { head: "change an hour", cell: of(perHourText) },
  { head: "limit", cell: of(({ measure, limitPerHour }) => driftMeasures[measure].format(limitPerHour)) },
  { head: "verdict", cell: of(({ verdict }) => verdict) },
];

const figure = figureOf<SoakFigures>();

const typical = (name: DriftName): Column<SoakRow<SoakFigures>>["cell"] =>
  figure(
    ({ drifts }) => drifts.find(({ measure }) => measure === name)?.typical,
    (value) => driftMeasures[name].format(value),
  );

/** The charts' figures, and what they cost. */
const figureColumns: Column<SoakRow<SoakFigures>>[] = [
  ...identity,
  { head: "sent/s", cell: figure(({ sentPerSecond }) => sentPerSecond, whole) },
  { head: "finished per second", cell: figure(({ finishedPerSecond }) => finishedPerSecond, whole) },
  { head: "backlog at most", cell: figure(({ depthMax }) => depthMax, whole) },
  { head: "latency p50", cell: figure(({ latencyMs }) => latencyMs?.p50, ms) },
  { head: "latency p99", cell: figure(({ latencyMs }) => latencyMs?.p99, ms) },
  { head: "dead tuples", cell: figure(({ deadTuples }) => deadTuples, whole) },
  { head: "on disk", cell: typical("bytes") },
  { head: "rotations", cell: figure(({ rotations }) => rotations, whole) },
  { head: "given back", cell: figure(({ bytesReclaimed }) => bytesReclaimed, bytes) },
  { head: "memory", cell: typical("clientRssBytes") },
  { head: "heap", cell: typical("clientHeapBytes") },
  { head: "server memory", cell: typical("serverMemoryBytes") },
  { head: "CPU per message", cell: figure(({ serverCpuMicrosPerMessage }) => serverCpuMicrosPerMessage, micros) },
];

const chartMeasures = [
  "depth",
  "deadTuples",
  "bytes",
  "sentPerSecond",
  "finishedPerSecond",
  "latencyP50Ms",
  "latencyP99Ms",
  "clientRssBytes",
  "clientHeapBytes",
  "serverMemoryBytes",
] as const;

/** The verdicts, how they were come by, and all that is needed to judge them. */
export function soakReport(results: SoakResults, measured: SampledSoak[]): ScenarioReport {
  const { settings, trials, machine } = results;
  const { systems, horizons, rotation } = settings;
  const withFigures = trials.flatMap(({ system, horizon, figures }) =>
    figures === null ? [] : { name: `${system}, ${horizon}`, ...figures },
  );
  return {
    caveats: caveatsOf(
      results,
      `${settings.seconds} s a trial. Half an hour and longer says something.`,
      "The harness shares the cores with an embedded server.",
      noise(withFigures, machine.cores),
    ),
    verdicts: trials.map(
      (trial) => `${trial.system}, ${trial.horizon}${repeatText(trial.repeat)}: ${outcomeText(trial, driftText)}`,
    ),
    intro: "",
    table: reportRows("What drifts", driftColumns, driftRows(results), 2),
    more: [
      "*Change an hour*: the median of the slopes between every two points, with its 95 % range (Theil–Sen). *Flat*: the whole range is below the limit. " +
        "*Grows*: all of it is above. In between it was *too short to say*.",
      ...list([
        prose(
          "The first fifth of the samples is left out. A point is the median of a window of samples, at most 60 windows in all; of dead tuples the maximum, which autovacuum brings down again; of size on disk the peak of each whole *rotation*, of systems without any the maximum of a window.",
        ),
        prose(
          `The limit of memory and size on disk is ${bytes(Math.round(bytesPerHourMax))} an hour, a GiB in a week; that of dead tuples one for ${1 / deadTuplesPerMessageMax} messages; that of p99 a growth of ${p99ShareMax * 100} % over the time that is judged. Nothing is said to grow where less than ${hoursMin * 60} minutes are judged.`,
        ),
      ]),
      ...headed(reportRows("More of the same trials", figureColumns, soakRows(results), 2)),
      "*Latency*: from when a message was due to be sent until a consumer had it in hand. *Dead tuples*: in all tables of the system, when the load has stopped and the holder still holds. *Given back*: " +
        "what tables shrank by between two samples, a lower bound. *Memory* and *heap*: of the process that runs producers, consumers and the harness. *Server memory*: what PostgreSQL's processes have for themselves, without shared buffers.",
      ...overTime({
        systems,
        measures: measuresNamed(chartMeasures),
        about:
          "Time runs from the first sample. While messages were sent is shaded; after it, until the queue was empty, nothing more was. Latencies are those of the messages " +
          "received since the sample before, dead tuples those of the server's statistics.",
        groups: horizons.flatMap((horizon) => {
          const own = measured.filter(({ trial }) => trial.horizon === horizon);
          const title = `horizon held by ${horizon}`;
          const group = { title, label: "sending", zero: soakPhase, names: chartMeasures };
          return own.length === 0 ? [] : [chartGroup(own, group)];
        }),
      }),
    ],
    systems: [
      ...systems.map((name) => described(systemNamed(name))),
      ...horizons.map((name) => prose(`**${name}**: ${horizonNamed(name).summary}.`)),
    ],
    settings: [
      `${settings.rate} messages/s for ${settings.seconds} s, open loop, latency from the intended send time; a sample every ${settings.sampleSeconds} s`,
      `${settings.producers} producers, one message a send; ${settings.consumers} consumers, up to ${settings.batch} a receive; payload ${settings.payloadBytes} bytes`,
      `a fresh database for each trial, ${settings.repeat} repeat(s); the horizon is held from before the first message until the last is sent`,
      "a trial counts only when each message that was sent was received once, consumers and harness kept up, and the horizon was held all the time",
      rotation === null
        ? "Pgque rotates as by default"
        : `Pgque rotates at ${rotation.bytes / 2 ** 20} MiB, at most every ${rotation.minIntervalSeconds} s: with its defaults, 64 MiB and 30 s, there were too few rotations to judge by`,
    ],
  };
}
