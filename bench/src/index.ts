import { sqlFileFlags } from "./adapters/support/sql-file.ts";
import { flagsOf, type Flag } from "./runner/options.ts";
import { compareOptions } from "./scenarios/compare.ts";
import { degradationOptions } from "./scenarios/degradation/measure.ts";
import { drainOptions } from "./scenarios/drain/drain.ts";
import { engineOptions } from "./scenarios/engine/results.ts";
import { latencyOptions } from "./scenarios/latency/latency.ts";
import { receiveOptions } from "./scenarios/receive.ts";
import { priorityOptions } from "./scenarios/priority.ts";
import { ratesOptions } from "./scenarios/rates/rates.ts";
import { sendOptions } from "./scenarios/send/plan.ts";
import { retentionOptions } from "./scenarios/retention/measure.ts";
import { soakOptions } from "./scenarios/soak/measure.ts";
import { throughputOptions } from "./scenarios/throughput/plan.ts";
import { xminOptions } from "./scenarios/xmin/settings.ts";

export type { Progress } from "./runner/scenario.ts";
export type { Run, RunHooks } from "./runner/run.ts";
export type { ScenarioResults } from "./runner/scenario.ts";
export { terminalProgress } from "./runner/terminal-progress.ts";
export { BenchOptionError } from "./runner/options.ts";

export { runBench } from "./scenarios/xmin/xmin.ts";
export type { BenchOptions } from "./scenarios/xmin/settings.ts";
export { systemNames } from "./adapters/registry.ts";
export { horizonNames } from "./horizons/registry.ts";
export type { TrialDetails, TrialResult, Results } from "./scenarios/xmin/results.ts";

export { runEngine } from "./scenarios/engine/engine.ts";
export type { EngineOptions, EngineResults, MicrobenchmarkResult } from "./scenarios/engine/results.ts";
export { microbenchmarkNames } from "./scenarios/engine/registry.ts";

export { runSend, type SendTrial, type SendResults } from "./scenarios/send/send.ts";
export type { SendOptions } from "./scenarios/send/plan.ts";
export { senderNames } from "./adapters/registry.ts";
export type { SendFigures } from "./scenarios/send/measure.ts";

export {
  drainSystemNames,
  runDrain,
  type DrainTrial,
  type DrainOptions,
  type DrainResults,
} from "./scenarios/drain/drain.ts";
export type { DrainFigures } from "./scenarios/drain/measure.ts";

export {
  latencySystemNames,
  runLatency,
  type LatencyTrial,
  type LatencyOptions,
  type LatencyResults,
} from "./scenarios/latency/latency.ts";
export type { LatencyFigures } from "./scenarios/latency/process.ts";

export {
  runCompare,
  type CompareTrial,
  type CompareFigures,
  type CompareOptions,
  type CompareResults,
} from "./scenarios/compare.ts";

export {
  runReceive,
  type ReceiveTrial,
  type ReceiveFigures,
  type ReceiveOptions,
  type ReceiveResults,
} from "./scenarios/receive.ts";

export {
  runPriority,
  type PriorityTrial,
  type PriorityFigures,
  type PriorityOptions,
  type PriorityResults,
} from "./scenarios/priority.ts";

export {
  runRates,
  type RatesTrial,
  type RatesFigures,
  type RatesOptions,
  type RatesResults,
} from "./scenarios/rates/rates.ts";

export { runSoak, type SoakTrial, type SoakResults } from "./scenarios/soak/soak.ts";
export type { SoakFigures, SoakOptions } from "./scenarios/soak/measure.ts";
export type { Drift } from "./scenarios/soak/drift.ts";

export { runRetention, type RetentionTrial, type RetentionResults } from "./scenarios/retention/retention.ts";
export type { RetentionFigures, RetentionOptions } from "./scenarios/retention/measure.ts";

export { runThroughput, type ThroughputTrial, type ThroughputResults } from "./scenarios/throughput/throughput.ts";
export type { ThroughputFigures } from "./scenarios/throughput/measure.ts";
export { throughputSystemNames, type ThroughputOptions } from "./scenarios/throughput/plan.ts";

export { runDegradation, type DegradationTrial, type DegradationResults } from "./scenarios/degradation/degradation.ts";
export type { DegradationFigures, DegradationOptions } from "./scenarios/degradation/measure.ts";

export { targetsIn, type TargetsOfRun } from "./targets/targets.ts";
export type { TargetOutcome } from "./runner/target.ts";
export { targetsMarkdown, targetsTerminal } from "./targets/targets-table.ts";

export type { Flag };

/** The options of scenarios on the command line, as they declare them: in the order of help. */
export const scenarioFlags: Record<string, Flag[]> = {
  xmin: [
    ...flagsOf(xminOptions),
    { flag: "--baseline <file>", help: "the results.json of an earlier run with the same settings, to compare with" },
    ...sqlFileFlags,
  ],
  engine: flagsOf(engineOptions),
  send: flagsOf(sendOptions),
  drain: flagsOf(drainOptions),
  latency: flagsOf(latencyOptions),
  rates: flagsOf(ratesOptions),
  throughput: [...flagsOf(throughputOptions), ...sqlFileFlags],
  receive: flagsOf(receiveOptions),
  priority: flagsOf(priorityOptions),
  degradation: flagsOf(degradationOptions),
  retention: flagsOf(retentionOptions),
  soak: flagsOf(soakOptions),
  compare: flagsOf(compareOptions),
};
