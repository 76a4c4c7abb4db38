export { manualClock, ManualClock } from "./manual-clock.ts";
export { runSchedules, type ScheduledRun, type RunSchedulesOptions } from "./run-schedules.ts";
