import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { expect } from "vitest";
import { install } from "@pgque/sql";
import { freshDatabase, type TestDatabase } from "../../../../test/support/database.ts";
import { laterPackages } from "../../../../test/support/later-packages.ts";
import { nextRelease, nextVersion } from "../../../../test/support/next-release.ts";
import { until } from "../../../../test/support/until.ts";
import { makeStates } from "../../../../sql/test/install/states.ts";
import { Ledger } from "../faults/ledger.ts";
import { verdictOf } from "../faults/verdict.ts";

const queues = ["plain", "lanes", "keyed"] as const;

/** Where the processes are of the version that is there, and of the next one. */
const older = path.resolve(import.meta.dirname, "..");

/**
 * A database is brought to the next version while senders and workers go on that were started before; then senders and workers of the next one
 * join them. Each part takes as long as it takes to handle so many messages.
 */
export async function survivesUpgrade(messages: number): Promise<void> {
  await using database = await freshDatabase();
  const goOn = await makeStates(database);
  await using fleet = new Fleet(database);
  await fleet.makeQueues();
  for (let i = 0; i < 2; i += 1) {
    fleet.start("worker", older);
    fleet.start("sender", older);
  }
  await fleet.handle(messages);

  const installer = await database.connect();
  await Promise.all([
    install(installer, { release: nextRelease }).then(({ version }) => expect(version).toBe(nextVersion)),
    fleet.handle(messages),
  ]);
  const later = await fleet.laterProcesses();
  for (let i = 0; i < 2; i += 1) {
    fleet.start("worker", later);
    fleet.start("sender", later);
  }
  await goOn();
  await fleet.handle(messages);
  await fleet.verdict();
}

/** Processes of both versions, and what they wrote down: a ledger for each queue. */
class Fleet implements AsyncDisposable {
  readonly #database: TestDatabase;
  readonly #folder = mkdtempSync(path.join(os.tmpdir(), "pgque-upgrade-"));
  readonly #folders = [this.#folder];
  readonly #ledgers: Map<string, Ledger>;
  readonly #processes: { kind: "sender" | "worker"; child: ChildProcess }[] = [];

  constructor(database: TestDatabase) {
    this.#database = database;
    this.#ledgers = new Map(
      queues.map((queue) => {
        const folder = path.join(this.#folder, queue);
        mkdirSync(folder);
        return [queue, new Ledger(folder)];
      }),
    );
  }

  async makeQueues(): Promise<void> {
    const client = await this.#database.connect();
    const options = { rotation_bytes: 65_536, rotation_min_interval: "0 s", max_retries: 20 };
    const lanes = {
      plain: {},
      lanes: { priorities: 10 },
      keyed: { partitions: 16, allow_expiry: true, allow_cancel: true },
    };
    for (const queue of queues) {
      await client.query("select pgque.create_queue($1, $2)", [queue, { ...options, ...lanes[queue] }]);
      const mode = queue === "keyed" ? "ordered" : "shared";
      await client.query("select pgque.subscribe($1, 'default', $2)", [queue, { mode }]);
    }
    await client.query(`select pgque.schedule('pulse', 'plain', '* * * * * *', '"pulse"'::text)`);
  }

  /** The folder of the tests, and with it the packages that its processes use, as the next version has them. */
  async laterProcesses(): Promise<string> {
    const folder = await laterPackages(nextRelease);
    this.#folders.push(folder);
    for (const part of ["faults/ledger.ts", "upgrade/processes"])
      cpSync(path.join(older, part), path.join(folder, part), { recursive: true });
    return folder;
  }

  start(kind: "sender" | "worker", folder: string): void {
    const script = path.join(folder, "upgrade/processes", `${kind}.ts`);
    const child = spawn(process.execPath, [script, this.#folder, ...queues], {
      env: { ...process.env, DATABASE_URL: this.#database.url },
      stdio: ["ignore", "inherit", "inherit"],
    });
    this.#processes.push({ kind, child });
  }

  /** Waits until every process has sent or handled so many more of each queue. */
  async handle(messages: number): Promise<void> {
    const wanted = this.#processes.flatMap(({ kind, child }) =>
      queues.map((queue) => {
        const count = (): number =>
          this.#ledger(queue).count(kind === "sender" ? "sent" : "handled", { pid: child.pid ?? 0 });
        return { child, count, goal: count() + messages };
      }),
    );
    await until(
      () => {
        for (const { child } of wanted) expect(endOf(child), "a process has ended").toBeNull();
        return wanted.every(({ count, goal }) => count() >= goal);
      },
      `every process gets on with ${messages} messages`,
      600_000,
    );
  }

  /**
   * No send has failed, and nobody has had anything to say; nothing is lost, made up or out of order, nothing was handled twice, and each time of the
   * schedule was run once.
   */
  async verdict(): Promise<void> {
    await this.#end("sender");
    const client = await this.#database.connect();
    await client.query("select pgque.unschedule('pulse')");
    for (const queue of queues) {
      // by the ledger: a status is a few looks one after the other, and a message may come between them
      const lost = (): string[] => verdictOf(this.#ledger(queue).read(), "default").lost;
      await until(() => lost().length === 0, `all that was sent to ${queue} is handled`, 120_000);
    }
    await this.#end("worker");

    for (const queue of queues) {
      const entries = this.#ledger(queue).read();
      const said = entries.filter(({ kind }) => kind === "said").map(({ what }) => what);
      const pulses = entries.filter(({ what }) => what.startsWith("pulse/"));
      const { lost, phantom, duplicates, outOfOrder } = verdictOf(
        entries.filter((entry) => !pulses.includes(entry)),
        "default",
      );
      expect({ queue, said, lost, phantom, duplicates }).toEqual({
        queue,
        said: [],
        lost: [],
        phantom: [],
        duplicates: [],
      });
      if (queue === "keyed") expect(outOfOrder).toEqual([]);
      if (queue === "plain") expectEachSecondOnce(pulses.map(({ what }) => what.slice("pulse/".length)));
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { child } of this.#processes) child.kill("SIGKILL");
    for (const { child } of this.#processes) if (endOf(child) === null) await once(child, "exit");
    for (const folder of this.#folders) rmSync(folder, { recursive: true });
  }

  async #end(kind: "sender" | "worker"): Promise<void> {
    const children = this.#processes.filter((one) => one.kind === kind).map(({ child }) => child);
    for (const child of children) child.kill("SIGTERM");
    await until(() => children.every((child) => endOf(child) !== null), `every ${kind} has ended`, 120_000);
    expect(children.map(endOf)).toEqual(children.map(() => 0));
  }

  #ledger(queue: string): Ledger {
    return this.#ledgers.get(queue) as Ledger;
  }
}

const endOf = ({ exitCode, signalCode }: ChildProcess): number | NodeJS.Signals | null => exitCode ?? signalCode;

function expectEachSecondOnce(times: readonly string[]): void {
  const seconds = times.map((time) => Date.parse(time) / 1000).toSorted((one, other) => one - other);
  const [first = 0] = seconds;
  expect(seconds).toEqual(seconds.map((_, i) => first + i));
}
