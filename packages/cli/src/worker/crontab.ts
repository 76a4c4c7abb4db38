import { readFile } from "node:fs/promises";
import type { CrontabEntry } from "@pgque/worker";
import { UsageError } from "../output/failure.ts";
import { type LoadedTask, notServed } from "./load-tasks.ts";

/**
 * The tasks, with the schedules of a crontab for their workers to set. Where several serve one queue the first does.
 *
 * @throws UsageError when the file cannot be read, or something is wrong with its text or its queues, by line
 */
export async function withCrontab(tasks: readonly LoadedTask[], file: string): Promise<LoadedTask[]> {
  const entries = await readCrontab(file);
  const owners = entries.map((entry) => ownerOf(entry, tasks, file));
  return tasks.map((task) => {
    const own = entries.filter((_, i) => owners[i] === task).map(({ name, schedule }) => [name, schedule] as const);
    if (own.length === 0) return task;
    return {
      ...task,
      options: { ...task.options, schedules: { ...task.options.schedules, ...Object.fromEntries(own) } },
    };
  });
}

async function readCrontab(file: string): Promise<CrontabEntry[]> {
  const text = await readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => {
    const found = error.code === "ENOENT" ? "nothing there" : error.code === "EISDIR" ? "a folder" : error.message;
    throw new UsageError(`expected a crontab at ${JSON.stringify(file)}, found: ${found}`);
  });
  const { parseCrontab } = await import("@pgque/worker");
  try {
    return parseCrontab(text);
  } catch (cause) {
    throw new UsageError(`could not read ${file}`, { cause });
  }
}

function ownerOf({ line, name, queue }: CrontabEntry, tasks: readonly LoadedTask[], file: string): LoadedTask {
  const declared = tasks.find(({ options }) => Object.hasOwn(options.schedules ?? {}, name));
  if (declared !== undefined) {
    throw new UsageError(
      `expected a name of its own on line ${line} of ${file}, got: ${JSON.stringify(name)}, as in ${declared.file}`,
    );
  }
  const owner = tasks.find((task) => task.queue.name === queue);
  if (owner === undefined) throw notServed(`line ${line} of ${file}`, queue, tasks);
  return owner;
}
