import { Command, CommanderError } from "commander";
import { sanitizeLines, redact } from "@pgque/client/redact";
import { benchCommand, type ScenarioFlags } from "./commands/bench.ts";
import { consumerCommand } from "./commands/consumer.ts";
import { dashboardCommand } from "./commands/dashboard.ts";
import { relayCommand } from "./commands/relay.ts";
import { devCommand } from "./commands/dev.ts";
import { dlqCommand } from "./commands/dlq.ts";
import { doctorCommand } from "./commands/doctor.ts";
import { guardCommand } from "./commands/guard.ts";
import { installCommand, sqlCommand, upgradeCommand } from "./commands/install.ts";
import { messageCommand } from "./commands/message.ts";
import { peekCommand } from "./commands/peek.ts";
import { queueCommand } from "./commands/queue.ts";
import { receiveCommand } from "./commands/receive.ts";
import { scheduleCommand } from "./commands/schedule.ts";
import { callCommand } from "./commands/call.ts";
import { sendCommand } from "./commands/send.ts";
import { statusCommand } from "./commands/status.ts";
import { tailCommand } from "./commands/tail.ts";
import { topCommand } from "./commands/top.ts";
import { uninstallCommand } from "./commands/uninstall.ts";
import { validateCommand } from "./commands/validate.ts";
import { workerCommand } from "./commands/worker.ts";
import { explain, UsageError } from "./output/failure.ts";
import { OutputClosed, OutputFailed } from "./output/print.ts";
import { loadBench, NotInstalled } from "./optional-packages.ts";
import { exitCodeOf, stoppedBy } from "./signals.ts";
import { version } from "./version.ts";

const examples = `
Examples:
  pgque dev                           a PostgreSQL with the schema, for development
  pgque install                       the schema, into the database of DATABASE_URL
  pgque sql > migrations/pgque.sql    the same as a script, for a migration tool
  pgque queue create orders           a queue
  pgque send orders '{"orderId": 42}' a message
  pgque tail -f orders                messages as they are sent
  pgque worker tasks/                 run the handlers in a folder: tasks/orders.ts serves queue "orders"
  pgque doctor                        problems, and the statements that fix them
  pgque guard --older-than 10m        watch for transactions that hold the xmin horizon
  pgque top                           queues, live
  pgque dashboard                     the same in a browser, with what to do
  pgque relay orders ...              write all that is sent to Redis Streams or a webhook
  pgque bench --quick                 the effect of a long transaction on a queue, in two minutes

The database is that of --database-url, else of DATABASE_URL, else of PGHOST, PGPORT, PGUSER, PGPASSWORD, PGDATABASE, else of
\`databaseUrl\` in pgque.config.ts. Other options have the same order: command line, environment (PGQUE_SCHEMA, …), that file.
Exit codes: 0 done, 1 failed, 2 wrong usage or input, 130 stopped by Ctrl-C before the end.`;

/** In the order in which help lists them. */
const commands = [
  installCommand,
  upgradeCommand,
  uninstallCommand,
  statusCommand,
  validateCommand,
  sqlCommand,
  queueCommand,
  consumerCommand,
  sendCommand,
  callCommand,
  receiveCommand,
  peekCommand,
  tailCommand,
  messageCommand,
  dlqCommand,
  scheduleCommand,
  workerCommand,
  devCommand,
  doctorCommand,
  guardCommand,
  topCommand,
  dashboardCommand,
  relayCommand,
];

/** Runs the command line and ends the process: 0 done, 1 failed, 2 wrong usage. Reports every failure itself. */
export async function main(argv: readonly string[]): Promise<never> {
  // `pgque sql | head` is no failure, and a worker goes on without a reader of its log
  let outputError: NodeJS.ErrnoException | undefined;
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") outputError = error;
  });
  try {
    await program(isBench(argv.slice(2)) ? await scenarioFlags() : {}).parseAsync(argv);
  } catch (error) {
    process.exitCode = report(error);
  }
  await new Promise((resolve) => process.stdout.write("", resolve));
  // half a script must not pass for a whole one; what has failed already has been told
  if (outputError !== undefined && !process.exitCode) process.exitCode = report(new OutputFailed(outputError));
  // what a task has left open, a pool of its own say, must not keep the process
  process.exit();
}

/** Whether it is the command that these arguments name, or ask for help with; a queue may have that name, too. */
function isBench(args: readonly string[]): boolean {
  const [first, second] = args.filter((arg) => !arg.startsWith("-"));
  return first === "bench" || (first === "help" && second === "bench");
}

/** What the benchmark declares of its options; nothing when it cannot be had, which its commands say. No other command needs it. */
export async function scenarioFlags(): Promise<ScenarioFlags> {
  try {
    return (await loadBench()).scenarioFlags;
  } catch (error) {
    if (error instanceof NotInstalled) return {};
    throw error;
  }
}

/** The command line, without side effects: a command loads what it needs when it runs. */
export function program(declared: ScenarioFlags = {}): Command {
  const pgque = new Command("pgque")
    .description("A Postgres queue for Node.js that stays fast while transactions hold the xmin horizon.")
    .version(version, "-V, --version", "print the version")
    .helpOption("-h, --help", "show help, also of a command: pgque worker --help")
    .addHelpText("after", examples)
    .hook("preAction", async (_, command) => {
      const { applyConfig } = await import("./config/apply.ts");
      await applyConfig(command, command.getOptionValue("config") as string | undefined);
    })
    // a scenario of bench has options by the same names as bench itself
    .enablePositionalOptions();
  for (const make of commands) pgque.addCommand(make());
  pgque.addCommand(benchCommand(declared));
  configureErrors(pgque, "pgque");
  return pgque;
}

/** How a command and those below it speak of wrong usage: they throw, and name the help that says more. */
function configureErrors(command: Command, path: string): void {
  command
    .exitOverride()
    .showHelpAfterError(`(${path} --help says more)`)
    // an argument that was mistaken for another may hold a connection string
    .configureOutput({ writeErr: (text) => process.stderr.write(sanitizeLines(redact(text))) });
  for (const below of command.commands) configureErrors(below, `${path} ${below.name()}`);
}

function report(error: unknown): number {
  // commander has said it; asking for help is not a failure, help for want of a command is
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  // nobody reads what it would say either
  if (error instanceof OutputClosed) return 1;
  process.stderr.write(`error: ${explain(error)}\n`);
  const signal = stoppedBy(error);
  if (signal !== undefined) return exitCodeOf(signal);
  return error instanceof UsageError ? 2 : 1;
}
