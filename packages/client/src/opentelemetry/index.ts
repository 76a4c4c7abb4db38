export { openTelemetry, type OpenTelemetryOptions } from "./open-telemetry.ts";
export { processing, type ProcessingOptions } from "./processing.ts";
export { contextOf } from "./headers.ts";
