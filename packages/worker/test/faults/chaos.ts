import type { ChildProcess } from "node:child_process";
import { setTimeout as pause } from "node:timers/promises";
import { expect } from "vitest";
import type { OwnServer } from "../../../../test/support/database.ts";
import { Proxy } from "../../../../test/support/proxy.ts";
import { until } from "../../../../test/support/until.ts";
import { Fleet, type ConsumerOptions } from "./fleet.ts";
import type { Entry } from "./ledger.ts";

const consumers: Record<string, ConsumerOptions> = {
  default: {},
  batch: { batch: true },
  transactional: { transactional: true, effects: true },
  ordered: { mode: "ordered", transactional: true, effects: true },
};

/** So that what is halted or silent has lost its lease. `Fleet` gives leases of five seconds. */
const haltMs = 6000;
const silenceMs = 1500;

/** What a transactional handler did, once for each commit. */
interface Effect {
  consumer: string;
  what: string;
  begun: number;
  ended: number;
}

/** Everything at once for so long, then peace, and what the law says of it. Prints how often each thing happened. */
export async function chaos(own: OwnServer, durationMs: number): Promise<void> {
  const admin = await own.connect();
  await admin.query("create table public.effect (consumer text, what text, begun int8, ended int8)");
  await using proxy = await Proxy.start(own.server.port);
  const url = proxy.through(own.url);
  await using fleet = await Fleet.start({
    url: own.url,
    workersUrl: url,
    sendersUrl: url,
    workers: 3,
    senders: 2,
    consumers,
    options: { queryTimeoutMs: 2000, timeoutMs: 3000, shutdownTimeoutMs: 5000 },
  });
  await fleet.pgque.schedules.set("tick", fleet.queue, "* * * * * *", "tick", { key: "tick", catchUp: { all: 1440 } });
  // no sender's: it is handled by nobody
  await fleet.pgque.send(fleet.queue, "poison");
  const counts = await faults(fleet, proxy, own, durationMs);
  const poisonIsDead = async (): Promise<boolean> =>
    (await fleet.deadLetters()).filter(({ what }) => what === "poison").length === Object.keys(consumers).length;
  await until(poisonIsDead, "the poison is a dead letter for each consumer", 300_000);
  await fleet.allWork();
  await fleet.pgque.schedules.remove("tick");
  const verdict = await fleet.verdict({ drainMs: 300_000, mayBury: true });
  const entries = fleet.ledger.read();

  const dead = await fleet.deadLetters();
  const ofPoison = dead.filter(({ what }) => what === "poison");
  expect(ofPoison.map(({ consumer }) => consumer).toSorted()).toEqual(Object.keys(consumers).toSorted());
  for (const { reason } of ofPoison) expect(reason).toMatch(/in hand when 3 processes ended/);
  // workers end by nothing but what the test does to them
  const ends = new Set(fleet.workers.map(({ exitCode, signalCode }) => exitCode ?? signalCode));
  expect([...ends].filter((end) => ![0, 7, "SIGKILL"].includes(end as never))).toEqual([]);

  const db = await own.connect();
  const { rows: effects } = await db.query<Effect>(
    "select consumer, what, begun::float8, ended::float8 from public.effect order by begun",
  );
  const sent = new Set(entries.filter(({ kind }) => kind === "sent").map(({ what }) => what));
  for (const consumer of ["transactional", "ordered"]) {
    const whats = effects.filter((effect) => effect.consumer === consumer).map(({ what }) => what);
    const buried = new Set(dead.filter((one) => one.consumer === consumer).map(({ what }) => what));
    const there = new Set(whats);
    expect(whats.length, "each happened once").toBe(there.size);
    expect([...sent].filter((what) => there.has(what) === buried.has(what))).toEqual([]);
  }
  expect(
    disorder(
      effects.filter(({ consumer }) => consumer === "ordered"),
      sent,
    ),
  ).toEqual([]);
  const ticks = checkTicks(entries, dead);
  const grown = growth(entries);
  expect(Math.max(...grown)).toBeLessThan(16 * 1024 * 1024);
  const connections = async (): Promise<number> => {
    const { rows } = await db.query(
      "select from pg_stat_activity where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()",
    );
    return rows.length;
  };
  await fleet.pgque.close();
  await until(async () => proxy.connections + (await connections()) === 0, "all connections are closed");
  const count = (kind: Entry["kind"]): number => entries.filter((entry) => entry.kind === kind).length;
  const happened = {
    ...counts,
    sent: sent.size,
    handled: count("handled"),
    duplicates: verdict.duplicates.length,
    effects: effects.length,
    ticks,
    processes: fleet.workers.length + fleet.senders.length,
    blamed: dead.length - ofPoison.length,
    heapGrowthMaxKiB: Math.round(Math.max(...grown) / 1024),
  };
  process.stdout.write(`${JSON.stringify(happened)}\n`);
}

/** Does everything that there is to be survived, all of it at once, each thing once at least. */
async function faults(fleet: Fleet, proxy: Proxy, own: OwnServer, durationMs: number): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  const over = performance.now() + durationMs;
  const busy = new Set<ChildProcess>();
  // of those that handle, the one that has been left alone for longest: so there is always something to be hit
  const victim = (): ChildProcess | undefined => {
    const handling = new Set(fleet.ledger.read().map(({ kind, pid }) => kind === "handled" && pid));
    return fleet.alive.find((child) => !busy.has(child) && handling.has(child.pid ?? 0));
  };
  const repeat = async (name: string, everyMs: number, fault: (n: number) => Promise<unknown>): Promise<void> => {
    let n = 0;
    do {
      await pause(everyMs);
      await fault(n);
      n += 1;
    } while (performance.now() < over);
    counts[name] = n;
  };
  const onVictim = async (fault: (child: ChildProcess) => Promise<unknown>): Promise<void> => {
    await until(() => victim() !== undefined, "a worker handles something", 120_000);
    const child = victim() as ChildProcess;
    busy.add(child);
    await fault(child);
    busy.delete(child);
  };
  await Promise.all([
    repeat("kills", 2000, () =>
      onVictim(async (child) => {
        await fleet.kill(child);
        fleet.startWorker();
      }),
    ),
    repeat("storms", durationMs / 4, async () => {
      for (let i = 0; i < 3; i += 1) {
        const all = fleet.alive.filter((child) => !busy.has(child));
        all.forEach(() => fleet.startWorker());
        await Promise.all(all.map((child) => fleet.kill(child)));
        await pause(300);
      }
    }),
    repeat("halts", 1000, () =>
      onVictim(async (child) => {
        child.kill("SIGSTOP");
        await pause(haltMs);
        child.kill("SIGCONT");
      }),
    ),
    repeat("stops", 4000, () =>
      onVictim(async (child) => {
        fleet.startWorker();
        await fleet.stop(child);
      }),
    ),
    repeat("deaths of senders", 3000, async (n) => {
      fleet.startSender();
      await fleet.kill(fleet.senders[n] as ChildProcess);
    }),
    repeat("cuts", 4000, async () => proxy.cut()),
    repeat("silences", durationMs / 8, async (n) => {
      proxy.goDumb({ serverKnows: n % 2 === 0 });
      await pause(silenceMs);
      proxy.recover();
    }),
    repeat("restarts of Postgres", durationMs / 3, () => own.server.restart({ immediate: true })),
  ]);
  return counts;
}

/** Of each key: effects whose handler began before that of an earlier effect was done, or that come before an earlier message. */
function disorder(effects: readonly Effect[], sent: ReadonlySet<string>): string[] {
  const latest = new Map<string, { ended: number; number: number }>();
  const found: string[] = [];
  for (const { what, begun, ended } of effects) {
    const [key = "", text] = what.split("/");
    const before = latest.get(key);
    const number = Number(text);
    if (before && begun < before.ended) found.push(`${what} beside ${before.number}`);
    // a commit whose answer was lost may overlap with the next one: there is no order between them
    if (key !== "tick" && before && number < before.number && sent.has(what))
      found.push(`${what} after ${before.number}`);
    latest.set(key, { ended, number: sent.has(what) || key === "tick" ? number : (before?.number ?? -1) });
  }
  return found;
}

/** Each second from the first to the last has one message, which each consumer has handled. Returns how many. */
function checkTicks(entries: readonly Entry[], dead: readonly { consumer: string; what: string }[]): number {
  const done = [...entries.filter(({ kind }) => kind === "handled"), ...dead].filter(({ what }) =>
    what.startsWith("tick/"),
  );
  const all = [...new Set(done.map(({ what }) => what))];
  const seconds = all.map((what) => Number(what.split("/")[1])).toSorted((one, other) => one - other);
  expect(seconds).toEqual(seconds.map((_, i) => (seconds[0] ?? 0) + i));
  for (const consumer of Object.keys(consumers)) {
    const its = new Set(done.filter((one) => one.consumer === consumer).map(({ what }) => what));
    expect(all.filter((what) => !its.has(what))).toEqual([]);
  }
  return seconds.length;
}

/** By how many bytes the heaps have grown of those who could say so, from before the first message to after the last. */
function growth(entries: readonly Entry[]): number[] {
  const heaps = Map.groupBy(
    entries.filter(({ kind }) => kind === "heap"),
    ({ pid }) => pid,
  );
  return [...heaps.values()].flatMap(([before, after]) =>
    before && after ? [Number(after.what) - Number(before.what)] : [],
  );
}
