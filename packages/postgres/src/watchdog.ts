import { spawn } from "node:child_process";

/**
 * Cleans up after us when we die in a way that lets us do nothing about it (kill -9, a crash, process.exit): a shell that reads a
 * pipe from us. The pipe ends with us, then it stops the last process it was told of and removes the folder.
 */
export interface Watchdog {
  /** The process to stop; replaces the one named before. */
  watch(pid: number): void;
  /** Nothing to clean up any more. */
  dismiss(): Promise<void>;
}

const script = `
pid=
while read -r line; do pid=$line; done
if [ -n "$pid" ]; then
  kill -QUIT "$pid" 2>/dev/null
  tries=0
  while kill -0 "$pid" 2>/dev/null && [ "$tries" -lt 100 ]; do sleep 0.05; tries=$((tries + 1)); done
  kill -KILL "$pid" 2>/dev/null
fi
tries=0
until [ -z "$1" ] || rm -rf "$1" 2>/dev/null || [ "$tries" -ge 100 ]; do sleep 0.05; tries=$((tries + 1)); done
`;

/** `folder`: what goes with us; none: all is kept. */
export function startWatchdog(folder = ""): Watchdog {
  if (process.platform === "win32") return { watch: () => undefined, dismiss: () => Promise.resolve() };
  // detached: a session of its own, so that Ctrl-C in the terminal does not reach it
  const shell = spawn("sh", ["-c", script, "pgque-watchdog", folder], {
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
  });
  shell.unref();
  const pipe = shell.stdin as typeof shell.stdin & { unref?: () => void };
  pipe.unref?.();
  pipe.on("error", () => undefined);
  const gone = new Promise<void>((resolve) => shell.once("exit", () => resolve()));
  return {
    watch: (pid) => void pipe.write(`${pid}\n`),
    dismiss: async () => {
      shell.ref();
      pipe.end("\n");
      await gone;
    },
  };
}
