import type { ChildProcess } from "node:child_process";
import { randomBytes } from "node:crypto";
import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import os from "node:os";
import path from "node:path";
import { majorIn, majors, programs, type Major } from "./binaries.ts";
import { freePort } from "./free-port.ts";
import { keep, type Kept, remember } from "./keep.ts";
import { exited, launch, ready } from "./process.ts";
import { unprivileged, type Identity } from "./run-as.ts";
import { startWatchdog, type Watchdog } from "./watchdog.ts";

export interface PostgresOptions {
  /** Major version, 14 to 18. Default: 17, or that of `bin`. */
  major?: Major;
  /** Folder of the programs of an installed PostgreSQL, `/usr/lib/postgresql/17/bin` say. Default: those of an npm package. */
  bin?: string;
  /** Settings of the server, as in postgresql.conf. */
  settings?: Record<string, string | number | boolean>;
  /** Variables of the server's environment, beside those that it has anyway: `LD_PRELOAD`, say. */
  environment?: Record<string, string>;
  /** Survives a crash of the machine (fsync on). Default: false, which is faster. */
  durable?: boolean;
  /** Where the server's folder is made. Default: where the system has its temporary files. */
  parent?: string;
  /**
   * A folder whose data, password and port are used again, and kept; it is made if it is not there. One server at a time. Default: none, data goes
   * with the server.
   */
  keepIn?: string;
  /** The port to listen on. Default: the one that was kept, else a free one. */
  port?: number;
}

export interface StopOptions {
  /** As a crash would: no checkpoint, clients cut off. Default: false. */
  immediate?: boolean;
}

const superuser = "postgres";
const startTimeoutMs = 60_000;
const stopTimeoutMs = 20_000;

/**
 * Starts a real PostgreSQL server from an npm package, on a free port of 127.0.0.1, with a random password, in a temporary folder.
 * Takes about a second. The server and its folder are gone after `stop()`, and also when this process dies in any way.
 *
 * @throws Error when the server does not start; its log is kept, and the message names the file
 */
export async function startPostgres(options: PostgresOptions = {}): Promise<Postgres> {
  const major = options.major ?? (options.bin === undefined ? 17 : majorIn(options.bin));
  if (!majors.includes(major))
    throw new Error(`expected \`major\` to be one of ${majors.join(", ")}, got: ${String(major)}`);
  const { keepIn } = options;
  const isKept = keepIn !== undefined;
  const folder = isKept
    ? path.resolve(keepIn)
    : mkdtempSync(path.join(options.parent ?? os.tmpdir(), "pgque-postgres-"));
  const kept = isKept ? keep(folder, major) : undefined;
  const watchdog = isKept ? startWatchdog() : startWatchdog(folder);
  const settings = { ...defaults(options.durable ?? false), ...options.settings };
  const server = new Postgres(major, folder, watchdog, settings, options.environment ?? {}, kept, options.bin);
  server.port = options.port ?? kept?.port ?? 0;
  try {
    await server.create();
    await server.start();
    if (isKept) remember(folder, server);
    return server;
  } catch (error) {
    const log = path.join(os.tmpdir(), `${path.basename(folder)}.log`);
    const tail = server.keepLog(log);
    await server.stop({ immediate: true });
    throw new Error(`PostgreSQL ${major} did not start, its log is in ${log}:\n${tail}`, { cause: error });
  }
}

function defaults(durable: boolean): Record<string, string | number | boolean> {
  return durable ? {} : { fsync: false, full_page_writes: false };
}

/** A running server. Stops itself at the end of an `await using` block. */
export class Postgres implements AsyncDisposable {
  readonly host = "127.0.0.1";
  readonly user = superuser;
  readonly password: string;
  readonly major: Major;
  /** Temporary folder of this server. */
  readonly folder: string;
  /** The server's log. */
  readonly log: string;
  port = 0;
  readonly #data: string;
  readonly #identity: Identity = unprivileged();
  readonly #watchdog: Watchdog;
  readonly #settings: Record<string, string | number | boolean>;
  readonly #environment: Record<string, string>;
  readonly #isKept: boolean;
  readonly #installed: string | undefined;
  #bin = "";
  #process: ChildProcess | undefined;
  #stopped: Promise<void> | undefined;

  constructor(
    major: Major,
    folder: string,
    watchdog: Watchdog,
    settings: Record<string, string | number | boolean>,
    environment: Record<string, string>,
    kept?: Kept,
    bin?: string,
  ) {
    this.major = major;
    this.#isKept = kept !== undefined;
    this.#installed = bin;
    this.password = kept?.password ?? randomBytes(18).toString("base64url");
    this.folder = folder;
    this.log = path.join(folder, "log");
    this.#data = path.join(folder, "data");
    this.#watchdog = watchdog;
    this.#settings = settings;
    this.#environment = environment;
  }

  /** Connects to database `postgres` as superuser. */
  get url(): string {
    return this.urlFor("postgres");
  }

  urlFor(database: string): string {
    return `postgres://${this.user}:${this.password}@${this.host}:${this.port}/${encodeURIComponent(database)}`;
  }

  /** Process id of the server, undefined while it is stopped. */
  get pid(): number | undefined {
    return this.#process?.pid;
  }

  /** Resolves when the server that runs now has ended, for whatever reason. */
  get ended(): Promise<unknown> {
    return this.#process === undefined ? Promise.resolve() : exited(this.#process);
  }

  /** Writes the data folder (`initdb`), unless one was kept. The password goes through a file that nobody else can read and that does not stay. */
  async create(): Promise<void> {
    chmodSync(this.folder, 0o711);
    this.#bin = this.#installed ?? programs(this.major, this.#identity, this.folder);
    if (existsSync(this.#data)) return;
    // under its own name only when it is whole
    const made = `${this.#data}.new`;
    rmSync(made, { recursive: true, force: true });
    mkdirSync(made, { mode: 0o700 });
    const passwordFile = path.join(this.folder, "password");
    writeFileSync(passwordFile, this.password, { mode: 0o600 });
    for (const file of [made, passwordFile]) this.#give(file);
    const child = launch(
      path.join(this.#bin, "initdb"),
      [
        "-D",
        made,
        "-U",
        superuser,
        "-E",
        "UTF8",
        "--no-locale",
        "--auth=scram-sha-256",
        `--pwfile=${passwordFile}`,
        "--no-sync",
      ],
      this.#identity,
      this.log,
    );
    if (child.pid) this.#watchdog.watch(child.pid);
    const code = await exited(child);
    rmSync(passwordFile, { force: true });
    if (code !== 0) throw new Error(`initdb ended with ${code}`);
    renameSync(made, this.#data);
  }

  /** Starts the server again after `restart`'s stop, or for the first time. */
  async start(): Promise<void> {
    const attempts = this.port === 0 ? 3 : 1;
    for (let attempt = 1; ; attempt++) {
      // a free port may be taken by somebody else before the server gets to it
      const port = this.port === 0 ? await freePort() : this.port;
      const child = launch(
        path.join(this.#bin, "postgres"),
        this.#arguments(port),
        this.#identity,
        this.log,
        this.#environment,
      );
      if (child.pid) this.#watchdog.watch(child.pid);
      this.#process = child;
      if (await ready(child, this.#data, startTimeoutMs)) {
        this.port = port;
        return;
      }
      await this.#end("SIGQUIT");
      const inUse = readFileSync(this.log, "utf8").includes("could not bind");
      if (attempt === attempts || !inUse) throw new Error("the server ended before it was ready");
    }
  }

  /** Stops the server, and starts it again on the same port with the same data. */
  async restart(options: StopOptions = {}): Promise<void> {
    await this.#end(options.immediate ? "SIGQUIT" : "SIGINT");
    await this.start();
  }

  /** Stops the server and removes its folder, unless that is kept. Further calls wait for the first. */
  stop(options: StopOptions = {}): Promise<void> {
    this.#stopped ??= (async () => {
      await this.#end(options.immediate ? "SIGQUIT" : "SIGINT");
      if (!this.#isKept) rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
      await this.#watchdog.dismiss();
    })();
    return this.#stopped;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  /** Copies the log out of the folder and returns its end. */
  keepLog(file: string): string {
    try {
      copyFileSync(this.log, file);
      return readFileSync(file, "utf8").trimEnd().split("\n").slice(-10).join("\n");
    } catch {
      return "(no log)";
    }
  }

  #arguments(port: number): string[] {
    const settings = {
      listen_addresses: this.host,
      unix_socket_directories: "",
      port,
      ...this.#settings,
    };
    return [
      "-D",
      this.#data,
      ...Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${setting(value)}`]),
    ];
  }

  #give(file: string): void {
    const { uid, gid } = this.#identity;
    if (uid !== undefined && gid !== undefined) chownSync(file, uid, gid);
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#process;
    this.#process = undefined;
    if (!child?.pid) return;
    const over = exited(child).catch(() => "never started");
    child.kill(signal);
    const hard = setTimeout(() => child.kill("SIGQUIT"), stopTimeoutMs);
    await over;
    clearTimeout(hard);
  }
}

function setting(value: string | number | boolean): string {
  return typeof value === "boolean" ? (value ? "on" : "off") : String(value);
}
