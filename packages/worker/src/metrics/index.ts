export { collectMetrics, type CollectedMetrics, type MetricsOptions } from "./collect-metrics.ts";
