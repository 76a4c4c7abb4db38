import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { command } from "../command.ts";
import { schemaOption, withClient } from "../connection.ts";
import { flag, given, port } from "../options.ts";
import { confirm, type ConfirmFlags } from "../output/confirm.ts";
import { printLine } from "../output/print.ts";
import { stopRequested } from "../signals.ts";

interface Flags extends ConfirmFlags {
  schema: string;
  port?: number;
  reset?: true;
}

/** Where the server is, from the folder that the command runs in. */
const folder = ".pgque";

export const devCommand = command("dev", {
  description: "Run a PostgreSQL with the schema for development, until stopped.",
  help: `
A real PostgreSQL 17 from an npm package, on 127.0.0.1, with the schema installed. Its data is in .pgque, which git ignores. The next
start has the same data and the same connection string. Ctrl-C stops it. For development only: there is no backup.

Examples:
  pgque dev
  pgque dev --port 5433
  pgque dev --reset         delete its data first; asks`,
  options: [
    schemaOption,
    flag("--port <port>", "the port to listen on (default: that of the last start, else a free one)", { read: port }),
    flag("--reset", "delete the data in .pgque first"),
  ],
  yes: true,
  json: false,
  database: false,
  async run(flags: Flags) {
    if (flags.reset && existsSync(folder)) {
      refuseRunning();
      await confirm(() => Promise.resolve(`This deletes the database in ${path.resolve(folder)}.`), flags);
      rmSync(folder, { recursive: true });
    }
    const [{ startPostgres }, { install }] = await Promise.all([import("@pgque/postgres"), import("@pgque/sql")]);
    refuseRunning();
    mkdirSync(folder, { recursive: true });
    writeFileSync(path.join(folder, ".gitignore"), "*\n");
    const requested = stopRequested();
    const server = await startPostgres({ keepIn: folder, durable: true, ...given({ port: flags.port }) });
    try {
      const { version } = await withClient({ databaseUrl: server.url, schema: flags.schema }, (client) =>
        install(client, { schema: flags.schema }),
      );
      await printLine(`PostgreSQL ${server.major} with Pgque ${version}, its data in ${folder}. Ctrl-C stops it.`);
      await printLine(`DATABASE_URL=${server.url}`);
      const ended = await Promise.race([requested, server.ended.then(() => null)]);
      if (ended === null) throw new Error(`the server has ended, ${server.log} says why`);
    } finally {
      await server.stop();
    }
  },
});

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
