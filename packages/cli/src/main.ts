import { Command, CommanderError } from "commander";
import { benchCommand } from "./commands/bench.ts";
import { installCommand } from "./commands/install.ts";
import { sqlCommand } from "./commands/sql.ts";
import { uninstallCommand } from "./commands/uninstall.ts";
import { workerCommand } from "./commands/worker.ts";
import { explain, redact, UsageError } from "./output/failure.ts";
import { version } from "./version.ts";

const examples = `
Examples:
  pgque install                       the schema, into the database of DATABASE_URL
  pgque sql > migrations/pgque.sql    the same as a script, for a migration tool
  pgque worker tasks/                 run the handlers in a folder: tasks/orders.ts serves queue "orders"
  pgque bench --quick                 what a long transaction does to a queue, in two minutes

The database is that of --database-url, else of DATABASE_URL, else of PGHOST, PGPORT, PGUSER, PGPASSWORD, PGDATABASE.
Exit codes: 0 done, 1 failed, 2 wrong usage.`;

/** Runs the command line and ends the process: 0 done, 1 failed, 2 wrong usage. Reports every failure itself. */
export async function main(argv: readonly string[]): Promise<never> {
  // `pgque sql | head` is no failure, and a worker goes on without a reader of its log
  process.stdout.on("error", () => undefined);
  try {
    await program().parseAsync(argv);
  } catch (error) {
    process.exitCode = report(error);
  }
  await new Promise((resolve) => process.stdout.write("", resolve));
  // what a task has left open, a pool of its own say, must not keep the process
  process.exit();
}

/** The command line, without side effects: a command loads what it needs when it runs. */
export function program(): Command {
  const pgque = new Command("pgque")
    .description("A Postgres queue for Node.js that stays fast whoever holds the xmin horizon.")
    .version(version, "-V, --version", "print the version")
    .helpOption("-h, --help", "show help, also of a command: pgque worker --help")
    .addHelpText("after", examples)
    // a scenario of bench has options by the same names as bench itself
    .enablePositionalOptions();
  for (const make of [installCommand, uninstallCommand, sqlCommand, workerCommand, benchCommand]) {
    pgque.addCommand(make());
  }
  reportHere(pgque, "pgque");
  return pgque;
}

/** How a command and those below it speak of wrong usage: they throw, and name the help that says more. */
function reportHere(command: Command, path: string): void {
  command
    .exitOverride()
    .showHelpAfterError(`(${path} --help says more)`)
    // an argument that was mistaken for another may hold a connection string
    .configureOutput({ writeErr: (text) => process.stderr.write(redact(text)) });
  for (const below of command.commands) reportHere(below, `${path} ${below.name()}`);
}

function report(error: unknown): number {
  // commander has said it; asking for help is not a failure, help for want of a command is
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  process.stderr.write(`error: ${explain(error)}\n`);
  return error instanceof UsageError ? 2 : 1;
}
