export { runBench, type Run, type RunHooks } from "./run.ts";
export { BenchOptionError } from "./option.ts";
export type { BenchOptions } from "./settings.ts";
export { horizonNames, systemNames } from "./registry.ts";

export type { CellDetails, CellResult, Results } from "./report/results.ts";
export type { Progress } from "./report/progress.ts";
export { terminalProgress } from "./report/terminal-progress.ts";
export { terminalReport } from "./report/table.ts";
