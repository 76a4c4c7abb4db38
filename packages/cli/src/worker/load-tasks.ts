import type { Dirent } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import path from "node:path";
import { inspect } from "node:util";
import { defineQueue, type Queue } from "@pgque/client";
import type { Handler, WorkerOptions } from "@pgque/worker";
import { UsageError } from "../output/failure.ts";
import { importFile } from "./import-file.ts";
import type { Task } from "./task.ts";

/** A task, ready to be given to a worker. */
export interface LoadedTask {
  /** Its file, as a person would write it. */
  file: string;
  queue: Queue;
  handler: Handler;
  options: WorkerOptions;
}

const extensions = new Set([".ts", ".mts", ".cts", ".js", ".mjs", ".cjs"]);

/**
 * The tasks of a folder, one for each file. Files whose name begins with a dot or an underscore, tests, declarations and what is in
 * folders below are left alone: they are there for the tasks to import.
 *
 * @throws UsageError when there is no such folder, no task in it, or a file that is none; Error when one throws
 */
export async function loadTasks(folder: string, defaults: WorkerOptions = {}): Promise<LoadedTask[]> {
  const files = await taskFiles(folder);
  const tasks: LoadedTask[] = [];
  for (const file of files) tasks.push(await loadTask(path.join(folder, file), defaults));
  const served = new Map<string, string>();
  for (const { file, queue, options } of tasks) {
    const reader = JSON.stringify([queue.name, options.consumer ?? "default"]);
    const other = served.get(reader);
    if (other !== undefined) {
      throw new UsageError(
        `expected one task for each queue and consumer, got two for queue ${JSON.stringify(queue.name)}: ${other} and ${file}. Give one of them a \`consumer\` of its own`,
      );
    }
    served.set(reader, file);
  }
  return tasks;
}

/**
 * The tasks that serve these queues.
 *
 * @throws UsageError naming a queue that none serves, and those that are served
 */
export function tasksFor(tasks: readonly LoadedTask[], queues: readonly string[]): LoadedTask[] {
  const missing = queues.find((name) => !tasks.some(({ queue }) => queue.name === name));
  if (missing === undefined) return tasks.filter(({ queue }) => queues.includes(queue.name));
  throw notServed("--queue", missing, tasks);
}

/** @param what it is that names a queue */
export function notServed(what: string, queue: string, tasks: readonly LoadedTask[]): UsageError {
  const served = [...new Set(tasks.map((task) => JSON.stringify(task.queue.name)))].join(", ");
  return new UsageError(
    `expected ${what} to name a queue that a task serves, got: ${JSON.stringify(queue)}; served: ${served}`,
  );
}

async function taskFiles(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch((error: NodeJS.ErrnoException) => {
    const found = error.code === "ENOENT" ? "nothing there" : error.code === "ENOTDIR" ? "a file" : error.message;
    throw new UsageError(`expected a folder of tasks at ${JSON.stringify(folder)}, found: ${found}`);
  });
  const files: string[] = [];
  for (const entry of entries.filter(({ name }) => isTask(name)))
    if (!(await isFolder(entry, path.join(folder, entry.name)))) files.push(entry.name);
  if (files.length > 0) return files.sort();
  throw new UsageError(
    `expected files with handlers in ${JSON.stringify(folder)}, found none. ` +
      'A file orders.ts with `export default async (message) => { … }` serves queue "orders"',
  );
}

/** @throws UsageError when it is a link to nothing */
async function isFolder(entry: Dirent, file: string): Promise<boolean> {
  if (!entry.isSymbolicLink()) return entry.isDirectory();
  const linked = await stat(file).catch((cause: unknown) => {
    throw new UsageError(`expected a file at ${JSON.stringify(file)}, found a link that leads nowhere`, { cause });
  });
  return linked.isDirectory();
}

function isTask(file: string): boolean {
  return (
    extensions.has(path.extname(file)) && !/^[._]|^pgque\.config\.|\.d\.[mc]?ts$|\.(test|spec)\.[mc]?[jt]s$/.test(file)
  );
}

async function loadTask(file: string, defaults: WorkerOptions): Promise<LoadedTask> {
  const exported = await importFile(file);
  const task = typeof exported === "function" ? { handler: exported } : exported;
  if (!isTaskObject(task)) {
    throw new UsageError(
      `expected ${file} to export by default a function or an object with a \`handler\`, got: ${inspect(exported, { depth: 0 })}`,
    );
  }
  const { queue, handler, ...options } = task;
  if (queue !== undefined && !isQueue(queue)) {
    throw new UsageError(
      `expected \`queue\` of ${file} to come from defineQueue, got: ${inspect(queue, { depth: 0 })}`,
    );
  }
  return {
    file,
    queue: queue ?? queueOf(file),
    handler,
    options: { ...defaults, ...options },
  };
}

/** The queue that is named like the file. */
function queueOf(file: string): Queue {
  try {
    return defineQueue(path.basename(file, path.extname(file)));
  } catch (cause) {
    throw new UsageError(`expected ${file} to be named like the queue that it serves, or to have a \`queue\``, {
      cause,
    });
  }
}

function isTaskObject(value: unknown): value is Task {
  return typeof (value as Partial<Task> | null | undefined)?.handler === "function";
}

function isQueue(value: unknown): value is Queue {
  const queue = value as Partial<Queue> | null;
  return typeof queue?.name === "string" && typeof queue.options === "object";
}
