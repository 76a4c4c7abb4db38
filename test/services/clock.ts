import { chmodSync, globSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { ownServer, type OwnServer } from "../support/database.ts";

/** A server whose clock steps while it runs. */
export interface SteppingServer extends OwnServer {
  /** From now on its clock is so many seconds ahead of the machine's; negative: behind. */
  setAhead(seconds: number): void;
}

/** Starts a server under libfaketime, of Debian's package `faketime`. Its intervals are real: only what the clock says steps. */
export async function steppingServer(): Promise<SteppingServer> {
  const [library] = globSync("/usr/lib/*/faketime/libfaketime.so.1");
  if (library === undefined) throw new Error("expected libfaketime: apt-get install --no-install-recommends faketime");
  const folder = mkdtempSync(path.join(os.tmpdir(), "pgque-clock-"));
  chmodSync(folder, 0o755);
  const file = path.join(folder, "ahead");
  const setAhead = (seconds: number): void => {
    // whole at any moment: the server reads it whenever it looks at the clock
    writeFileSync(`${file}.new`, `${seconds < 0 ? "" : "+"}${seconds}s\n`);
    renameSync(`${file}.new`, file);
  };
  setAhead(0);
  const server = await ownServer({
    environment: {
      LD_PRELOAD: library,
      FAKETIME_TIMESTAMP_FILE: file,
      FAKETIME_NO_CACHE: "1",
      FAKETIME_DONT_FAKE_MONOTONIC: "1",
      DONT_FAKE_MONOTONIC: "1",
    },
  });
  const drop = async (): Promise<void> => {
    await server.drop();
    rmSync(folder, { recursive: true, force: true });
  };
  return { ...server, setAhead, drop, [Symbol.asyncDispose]: drop };
}
