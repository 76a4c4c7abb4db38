import "@pgque/client"; // first, for it refuses a Node that is too old

export { Worker } from "./worker.ts";
export { runUntilSignal } from "./run-until-signal.ts";
export type { WorkerOptions } from "./options.ts";
export { workerOptions } from "./options.ts";

export type { DrainOptions, RunOnceOptions } from "./drain/drain-options.ts";
export type { Failure, RunSummary } from "./drain/summary.ts";
export { DrainError } from "./drain/drain-error.ts";

export type {
  BatchContext,
  BatchHandler,
  BatchResult,
  Handler,
  HandlerContext,
  HandlerOf,
  HandlerResult,
  TypeHandlers,
} from "./execute/handler.ts";
export { deadLetter, done, retry, snooze, type HandlerOutcome, type Outcome, type When } from "./execute/outcome.ts";
export type { Step } from "./steps/steps.ts";
export { UnrecoverableError } from "./execute/unrecoverable-error.ts";

export type { Clock } from "./clock.ts";
export type { FailedOutcome, Part, WorkerEventName, WorkerEvents, WorkerListener } from "./events/worker-events.ts";
export type { HealthOptions, Load, WorkerHealth, WorkerState } from "./health/health.ts";
export type { Handled, Middleware, MiddlewareResult } from "./execute/middleware.ts";

export type { Fields, Logger } from "./log.ts";
export { nextRuns, type NextRunsOptions } from "./schedule/next-runs.ts";
export type { DeclaredSchedule, DeclaredSchedules } from "./schedule/declared.ts";
export { parseCrontab, type CrontabEntry } from "./crontab/crontab.ts";
