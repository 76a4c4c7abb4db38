export { runBench, type Run, type RunHooks } from "./run.ts";
export { BenchOptionError } from "./option.ts";
export type { BenchOptions } from "./settings.ts";
export { horizonNames, systemNames } from "./registry.ts";

export type { CellDetails, CellResult, Results } from "./report/results.ts";
export type { Progress } from "./report/progress.ts";
export { terminalProgress } from "./report/terminal-progress.ts";
export { terminalReport } from "./report/table.ts";

export { runEngine, type EngineHooks, type EngineRun } from "./scenarios/engine.ts";
export type { EngineOptions } from "./engine-settings.ts";
export { figureNames } from "./figures/registry.ts";
export type { EngineResults, FigureResult } from "./report/engine-results.ts";
export { engineTerminalProgress, type EngineProgress } from "./report/engine-progress.ts";
export { engineTerminalReport } from "./report/engine-table.ts";
