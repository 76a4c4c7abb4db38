import { readFileSync, statfsSync } from "node:fs";

const place = "/dev/shm";

/** What the servers of a run may come to, by far. */
const enoughBytes = 4 * 1024 ** 3;

/**
 * A folder in memory, where there is one with enough room: each test makes a database and drops it, and half of the time of a run goes
 * into creating and removing their files. Undefined: the system's temporary folder will do.
 */
export function memoryFolder(): string | undefined {
  try {
    const [, , type, options] =
      readFileSync("/proc/mounts", "utf8")
        .split("\n")
        .find((line) => line.split(" ")[1] === place)
        ?.split(" ") ?? [];
    const { bavail, bsize } = statfsSync(place);
    // programs may be run from it
    return type === "tmpfs" && !options?.split(",").includes("noexec") && bavail * bsize >= enoughBytes
      ? place
      : undefined;
  } catch {
    return undefined;
  }
}
