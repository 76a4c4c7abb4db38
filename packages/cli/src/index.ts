export { defineTask, type Task } from "./tasks/task.ts";
