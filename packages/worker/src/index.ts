export { Worker } from "./worker.ts";
export { defaultOptions, optionLimits, type WorkerOptions } from "./options.ts";
export type { Handler, HandlerContext } from "./handler.ts";
export type { Fields, Logger } from "./log.ts";
