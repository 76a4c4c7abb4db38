import { mkdtemp, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { onTestFinished } from "vitest";

/** A folder of the test's own, beside the tests: that is where a task file finds the packages it imports. */
export class TaskFolder {
  readonly path: string;

  private constructor(folder: string) {
    this.path = folder;
  }

  static async create(files: Record<string, string> = {}): Promise<TaskFolder> {
    const folder = new TaskFolder(await mkdtemp(path.join(import.meta.dirname, "../tasks of a test ")));
    onTestFinished(() => rm(folder.path, { recursive: true, force: true }));
    for (const [file, code] of Object.entries(files)) await folder.write(file, code);
    return folder;
  }

  write(file: string, code: string): Promise<void> {
    return writeFile(this.file(file), code);
  }

  file(name: string): string {
    return path.join(this.path, name);
  }
}
