// Compiles only if the types of each are found.
export type * as client from "@pgque/client";
export type * as opentelemetry from "@pgque/client/opentelemetry";
export type * as options from "@pgque/client/options";
export type * as redact from "@pgque/client/redact";
export type * as testing from "@pgque/client/testing";
export type * as sql from "@pgque/sql";
export type * as worker from "@pgque/worker";
export type * as metrics from "@pgque/worker/metrics";
export type * as workerOptions from "@pgque/worker/options";
export type * as workerTesting from "@pgque/worker/testing";
