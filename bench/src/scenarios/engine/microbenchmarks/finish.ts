import type pg from "pg";
import { pgque } from "../../../adapters/pgque.ts";
import { claim, finish as finishClaimed, skipLocked, skipLockedDelete, take } from "../../../adapters/skip-locked.ts";
import { consumerName, queue } from "../../../adapters/support/pgque-queue.ts";
import { steadyPlans } from "../../../adapters/support/table.ts";
import type { System } from "../../../adapters/adapter.ts";
import { closing } from "../../../runner/failure.ts";
import { repeatableRead } from "../../../horizons/repeatable-read.ts";
import { closedLoop, drain } from "../../../load/load.ts";
import { payloadDueAt } from "../../../load/messages.ts";
import { quotient } from "../../../measure/statistics.ts";
import { micros, ratio, whole } from "../../../report/format.ts";
import { atLeast, type Target } from "../../../runner/target.ts";
import { openWorkbench, runPhase, type PhaseMeasurement, type Workbench } from "../../xmin/workbench.ts";
import { resolveSettings, type Settings } from "../../xmin/settings.ts";
import { defineMicrobenchmark, Rate, type DeclaredValue, type MicrobenchmarkContext } from "../microbenchmark.ts";

const systems = [pgque, skipLocked, skipLockedDelete];

/** Where the consumers are. */
const sides = { server: "in the server", client: "node-postgres" };
const phases = { clean: "clean", held: "horizon held" };

type Side = keyof typeof sides;
type Phase = keyof typeof phases;

/** How many times as fast as each of the others Pgque is to be, where nothing but the server limits it. */
const targets: Record<Phase, Record<string, Target>> = {
  clean: { [skipLocked.name]: atLeast(4, ratio), [skipLockedDelete.name]: atLeast(2, ratio) },
  held: { [skipLocked.name]: atLeast(50, ratio), [skipLockedDelete.name]: atLeast(50, ratio) },
};

/** What a system finishes. */
type Finished = Record<Phase, Record<Side, Rate>>;
type FinishedBySystem = Record<string, Finished>;

interface RoundSizes {
  backlog: number;
  rounds: number;
  seconds: number;
}

export const finish = defineMicrobenchmark<keyof RoundSizes | "heldSeconds", FinishedBySystem>({
  name: "finish",
  statement:
    "messages received and finished a second in batches of 100 by 4 consumers: pgque against skip-locked and skip-locked-delete, clean and under a held horizon",
  method: [
    "in the server: consumers are loops in PL/pgSQL that receive, commit, finish and commit, so that nothing but the server limits them; targets are compared with these. " +
      "node-postgres: consumers of the scenario xmin; they share the cores with the server, and one thread of JavaScript limits the faster systems",
    "from a backlog that is filled up before each round; nobody sends meanwhile; a round ends early rather than run dry, and otherwise with the batches under way when its time is over",
    "rounds of the systems in turn, each in a database of its own: first clean; then a REPEATABLE READ transaction holds the horizon in each while it sends and " +
      "finishes at full speed (node-postgres) for the time given; then rounds with the horizon still held, and proven to be",
    "batch, payload of 75 bytes, synchronous_commit, sessions at work and autovacuum are the same for all; pgque and skip-locked take two transactions a batch, the first without waiting for the disk; " +
      "skip-locked-delete takes one and loses a batch when its consumer crashes; maintain() runs once a second for pgque",
  ],
  sizes: {
    full: { backlog: 500_000, rounds: 3, seconds: 4, heldSeconds: 60 },
    quick: { backlog: 200_000, rounds: 2, seconds: 1, heldSeconds: 10 },
  },
  async measure(context, { heldSeconds, ...sizes }) {
    const contenders: Contender[] = [];
    try {
      for (const system of systems) contenders.push(await openContender(context, system));
      await drainInTurn(context, contenders, sizes, "clean");
      const holders = await Promise.all(contenders.map(({ bench }) => repeatableRead.hold(bench.site)));
      for (const contender of contenders) {
        context.note(`full speed with the horizon held, ${heldSeconds} s each`);
        await driven(context, contender, (signal) => closedLoop(contender.bench.load, heldSeconds, signal));
      }
      await drainInTurn(context, contenders, sizes, "held");
      for (const holder of holders) {
        await holder.prove();
        await holder.release();
      }
      return Object.fromEntries(contenders.map(({ name, finished }) => [name, finished]));
    } finally {
      await closing(
        ...contenders.map(
          ({ bench }) =>
            () =>
              bench.close(),
        ),
      )();
    }
  },
  values: Object.fromEntries(
    keysOf(phases).flatMap((phase) =>
      keysOf(sides).flatMap((side) => systems.flatMap(({ name }) => valuesOf(phase, side, name))),
    ),
  ),
});

type Declared = DeclaredValue<FinishedBySystem>;

function valuesOf(phase: Phase, side: Side, system: string): [string, Declared][] {
  const key = `${phase}.${side}.${system}`;
  const label = `${phases[phase]}, ${sides[side]}:`;
  const rateOf = (all: FinishedBySystem, of: string): Rate | undefined => all[of]?.[phase][side];
  const perSecond = (all: FinishedBySystem, of: string): number | null => rateOf(all, of)?.perSecond ?? null;
  const against = (all: FinishedBySystem): number | null =>
    quotient(perSecond(all, pgque.name), perSecond(all, system));
  const target = side === "server" ? targets[phase][system] : undefined;
  const own: [string, Declared][] = [
    [`${key}.perSecond`, [`${label} ${system}, messages/s`, whole, (all) => perSecond(all, system)]],
    [`${key}.cpuMicros`, [`${label} ${system}, server CPU/message`, micros, (all) => rateOf(all, system)?.cpuMicros]],
  ];
  if (system === pgque.name) return own;
  return [...own, [`${key}.ratio`, [`${label} ${pgque.name} / ${system}`, ratio, against, target]]];
}

function keysOf<Key extends string>(record: Record<Key, unknown>): Key[] {
  return Object.keys(record) as Key[];
}

/** One system in a database of its own, with consumers in the server and out of it. */
interface Contender {
  name: string;
  bench: Workbench;
  settings: Settings;
  /** Consumers in the server finish, until so many seconds are over or no more than so many messages are left. */
  drainInServer(seconds: number, left: number): Promise<void>;
  finished: Finished;
}

/** Settings are those of the scenario xmin, saturated and without bystanders. */
async function openContender(
  { server, synchronousCommit, quick }: MicrobenchmarkContext,
  system: System,
): Promise<Contender> {
  const xmin = resolveSettings({ quick, producers: 4, consumers: 4, batch: 100, sendBatch: 10, rate: 0 });
  const settings: Settings = { ...xmin, synchronousCommit, bystanders: 0, bystanderRows: 1 };
  const bench = await openWorkbench(server, system, settings);
  const newRates = () => ({ server: new Rate(), client: new Rate() });
  try {
    const drainInServer = await openLoops(bench, system.name, settings);
    return { name: system.name, bench, settings, drainInServer, finished: { clean: newRates(), held: newRates() } };
  } catch (error) {
    await bench.close();
    throw error;
  }
}

/** Rounds of finishing alone, systems in turn. */
async function drainInTurn(
  context: MicrobenchmarkContext,
  contenders: Contender[],
  { backlog, rounds, seconds }: RoundSizes,
  phase: Phase,
): Promise<void> {
  for (let n = 0; n < rounds; n++) {
    for (const contender of contenders) {
      const { bench, settings, finished } = contender;
      // Nobody is to wait for messages at the end of a round.
      const left = settings.consumers * settings.batch;
      context.note(`${phase}, round ${n + 1} of ${rounds}`);
      const round = async (side: Side, drive: (signal: AbortSignal) => Promise<unknown>): Promise<void> => {
        await fill(context, bench, backlog);
        const { first, last, ...measured } = await driven(context, contender, drive);
        finished[phase][side].add({ ...measured, messages: last.dequeued - first.dequeued });
      };
      await round("server", () => contender.drainInServer(seconds, left));
      await round("client", (signal) => drain(bench.load, seconds, signal, left));
    }
  }
}

function driven<T>(
  { signal }: MicrobenchmarkContext,
  { bench, settings }: Contender,
  drive: (signal: AbortSignal) => Promise<T>,
): Promise<PhaseMeasurement<T>> {
  return runPhase(bench, settings, { name: "finish", drive, onSample() {} }, signal);
}

const chunk = 10_000;

async function fill({ signal }: MicrobenchmarkContext, { load }: Workbench, backlog: number): Promise<void> {
  while (load.tally.depth < backlog) {
    signal.throwIfAborted();
    await load.send[0]?.(Array.from({ length: chunk }, () => payloadDueAt(performance.now(), load.payloadBytes)));
    load.tally.sent(chunk);
  }
}

const withoutWaiting = "perform set_config('synchronous_commit', 'off', true);";

/** How each system receives and finishes one batch, with the transactions and the durability that its consumer has. */
const steps: Record<string, string> = {
  [pgque.name]: `
    ${withoutWaiting}
    select count(*), min(batch_id) into got, batch
      from pgque.receive_messages('${queue}', '${consumerName}', null, batch_size);
    commit;
    exit when got = 0;
    perform pgque.ack(batch);`,
  [skipLocked.name]: `
    ${withoutWaiting}
    with claimed as (${claim.replace("$1", "batch_size")})
    select count(*), array_agg(id) into got, ids from claimed;
    commit;
    exit when got = 0;
    ${finishClaimed.replace("$1", "ids")};`,
  [skipLockedDelete.name]: `
    with taken as (${take.replace("$1", "batch_size")})
    select count(*) into got from taken;
    exit when got = 0;`,
};

const loop = (step: string): string => `
  create procedure public.bench_loop(batch_size int, most bigint, seconds float8, inout finished bigint)
  language plpgsql
  as $$
  declare
    until constant timestamptz := clock_timestamp() + make_interval(secs => seconds);
    got bigint;
    batch bigint;
    ids bigint[];
  begin
    finished := 0;
    while finished < most and clock_timestamp() < until loop
      ${step}
      finished := finished + got;
      commit;
    end loop;
  end
  $$`;

/** Consumers that run inside the server: what they finish is limited by nothing but it. */
async function openLoops(
  bench: Workbench,
  system: string,
  { consumers, batch }: Settings,
): Promise<Contender["drainInServer"]> {
  await bench.admin.query(loop(steps[system] ?? ""));
  const clients = await Promise.all(Array.from({ length: consumers }, () => bench.connect("loop")));
  if (system !== pgque.name) await Promise.all(clients.map(steadyPlans));
  const { tally } = bench.load;
  return async (seconds, left) => {
    const most = Math.floor((tally.depth - left) / consumers);
    const drainOne = async (client: pg.Client): Promise<void> => {
      const { rows } = await client.query<{ finished: string }>({
        name: "loop",
        text: "call public.bench_loop($1, $2, $3, null)",
        values: [batch, most, seconds],
      });
      tally.finished(Number(rows[0]?.finished));
    };
    await Promise.all(clients.map(drainOne));
  };
}
