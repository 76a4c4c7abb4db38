import { readFile } from "node:fs/promises";
import { text } from "node:stream/consumers";
import { command } from "../command.ts";
import type { DatabaseFlags } from "../connection.ts";
import { withPgque } from "../database.ts";
import { loadDashboard } from "../optional-packages.ts";
import { flag, given, port } from "../options.ts";
import { explain, UsageError } from "../output/failure.ts";
import { printLine } from "../output/print.ts";
import { stopRequested } from "../signals.ts";

interface Flags extends DatabaseFlags {
  host: string;
  port: number;
  basePath?: string;
  passwordFile?: string;
  hashPassword?: true;
}

/** Holds what `--hash-password` prints. */
const hashVariable = "PGQUE_DASHBOARD_PASSWORD_HASH";

export const dashboardCommand = command("dashboard", {
  description:
    "Serve the dashboard, until stopped: whether the queues work, which does not, since when, and what to do.",
  help: `
It looks, and changes nothing: the role needs <schema>_viewer. However many pages are open, the database is asked by one.
Beyond 127.0.0.1 it needs a password, whose hash is in ${hashVariable} or in a file; put TLS in front of it.

Examples:
  pgque dashboard
  pgque dashboard --port 8080
  pgque dashboard --hash-password < password.txt > dashboard.hash
  pgque dashboard --host 0.0.0.0 --password-file dashboard.hash
  pgque dashboard --base-path /queues       behind a proxy that passes the path on`,
  options: [
    flag("--host <address>", "the address to listen on", { default: "127.0.0.1" }),
    flag("--port <port>", "the port to listen on; 0: any that is free", { read: port, default: 7420 }),
    flag("--base-path <path>", "the path that requests come with, such as /a/b"),
    flag("--password-file <file>", `the hash of the password (default: ${hashVariable})`),
    flag("--hash-password", "print the hash of the password on standard input, and serve nothing"),
  ],
  json: false,
  async run(flags: Flags) {
    if (flags.hashPassword) return printHash();
    const passwordHash =
      flags.passwordFile === undefined ? process.env[hashVariable] || undefined : await hashIn(flags.passwordFile);
    const { serveDashboard } = await loadDashboard();
    await withPgque(flags, "viewer", async (pgque) => {
      const requested = stopRequested();
      // what is wrong from the beginning is told here; what goes wrong later is on the page
      await pgque.queues.list();
      const options = given({ host: flags.host, port: flags.port, basePath: flags.basePath, passwordHash });
      const served = await serveDashboard(pgque, options).catch((error: unknown) => {
        if ((error as { syscall?: unknown }).syscall === undefined) throw error;
        throw new Error(`could not serve the dashboard at ${flags.host}:${flags.port}: ${explain(error)}`, {
          cause: error,
        });
      });
      await printLine(`Dashboard at ${served.url}. Ctrl-C stops it.`);
      await requested;
      await served.close();
    });
  },
});

async function printHash(): Promise<void> {
  const { hashPassword } = await loadDashboard();
  const password = (await text(process.stdin)).replace(/\r?\n$/, "");
  if (password.length < 8)
    throw new UsageError("expected a password of at least 8 characters on standard input, got a shorter one");
  await printLine(await hashPassword(password));
}

async function hashIn(file: string): Promise<string> {
  return readFile(file, "utf8").catch((error: unknown) => {
    throw new UsageError(`expected --password-file to be a file that can be read: ${explain(error)}`);
  });
}
