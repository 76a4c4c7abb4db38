import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { command, type MakeCommand } from "../command.ts";
import { schemaOption, withClient } from "../connection.ts";
import { loadPostgres } from "../optional-packages.ts";
import { flag, given, port } from "../options.ts";
import { confirm, type ConfirmFlags } from "../output/confirm.ts";
import { printLine } from "../output/print.ts";
import { exitCodeOf, stopRequested } from "../signals.ts";

interface Flags extends ConfirmFlags {
  schema: string;
  port?: number;
  reset?: true;
}

/** Where the server is, from the folder that the command runs in. */
const folder = ".pgque";

const makeDev = command("dev", {
  description: "Run a PostgreSQL with the schema for development, until stopped, or as long as a command runs.",
  help: `
A real PostgreSQL 17 from an npm package, on 127.0.0.1, with the schema installed. Its data is in .pgque, which git ignores. The next
start has the same data and the same connection string. Ctrl-C stops it. For development only: there is no backup.

A command is run with the connection string in DATABASE_URL; the server stops with it, and its exit code is the command's.

Examples:
  pgque dev
  pgque dev --port 5433
  pgque dev node --watch service.ts
  pgque dev --reset         delete its data first; asks`,
  arguments: [["[command...]", "a program and its arguments, to run with DATABASE_URL"]],
  options: [
    schemaOption,
    flag("--port <port>", "the port to listen on (default: that of the last start, else a free one)", { read: port }),
    flag("--reset", "delete the data in .pgque first"),
  ],
  yes: true,
  json: false,
  database: false,
  async run(program: string[], flags: Flags) {
    if (flags.reset && existsSync(folder)) {
      refuseRunning();
      await confirm(() => Promise.resolve(`This deletes the database in ${path.resolve(folder)}.`), flags);
      rmSync(folder, { recursive: true });
    }
    const [{ startPostgres }, { install }] = await Promise.all([loadPostgres(), import("@pgque/sql")]);
    refuseRunning();
    mkdirSync(folder, { recursive: true });
    writeFileSync(path.join(folder, ".gitignore"), "*\n");
    const requested = stopRequested();
    const server = await startPostgres({ keepIn: folder, durable: true, ...given({ port: flags.port }) });
    try {
      const { version } = await withClient({ databaseUrl: server.url, schema: flags.schema }, (client) =>
        install(client, { schema: flags.schema }),
      );
      const ended = server.ended.then((): never => {
        throw new Error(`the server has ended, ${server.log} says why`);
      });
      if (program.length > 0) {
        process.exitCode = await Promise.race([runWith(server.url, program, requested), ended]);
        return;
      }
      await printLine(`PostgreSQL ${server.major} with Pgque ${version}, its data in ${folder}. Ctrl-C stops it.`);
      await printLine(`DATABASE_URL=${server.url}`);
      await Promise.race([requested, ended]);
    } finally {
      await server.stop();
    }
  },
});

/** What stands behind the command is the program's, its options too. */
export const devCommand: MakeCommand = () => makeDev().passThroughOptions();

/**
 * Runs a program until it ends. Signals are passed on, but for Ctrl-C of a terminal, which sends it to both.
 *
 * @returns its exit code, as shells have it
 * @throws Error when it cannot be started
 */
async function runWith(url: string, [program = "", ...args]: string[], stop: Promise<NodeJS.Signals>): Promise<number> {
  const child = spawn(program, args, { stdio: "inherit", env: { ...process.env, DATABASE_URL: url } });
  void stop.then((signal) => (signal === "SIGINT" && process.stdin.isTTY) || child.kill(signal));
  const [code, signal] = (await once(child, "exit").catch((cause: unknown) => {
    throw new Error(`expected a program, ${JSON.stringify(program)} cannot be started: ${(cause as Error).message}`, {
      cause,
    });
  })) as [number | null, NodeJS.Signals | null];
  return code ?? exitCodeOf(signal ?? "SIGTERM");
}

/** @throws Error when a server runs on the data already */
function refuseRunning(): void {
  const file = path.join(folder, "data", "postmaster.pid");
  const pid = existsSync(file) ? Number.parseInt(readFileSync(file, "utf8"), 10) : Number.NaN;
  if (Number.isNaN(pid) || !isAlive(pid)) return;
  throw new Error(
    `expected no server to run on the data in ${path.resolve(folder)}, found process ${pid}. Stop it first`,
  );
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // another user's is alive too
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
