export { manualClock, ManualClock } from "./manual-clock.ts";
export { fireSchedules, type FiredSchedule, type FireSchedulesOptions } from "./fire-schedules.ts";
