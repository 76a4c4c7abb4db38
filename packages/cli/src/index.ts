export { defineConfig, type PgqueConfig } from "./config/config.ts";
export { defineTask, type Task } from "./worker/task.ts";
