import { closedLoop } from "../../load/closed-loop.ts";
import { drain } from "../../load/drain.ts";
import { payloadDueAt } from "../../load/payload.ts";
import { runPhase, type PhaseMeasurement } from "../../xmin/phase.ts";
import { openWorkbench, type Workbench } from "../../xmin/workbench.ts";
import { resolveSettings, type Settings } from "../../xmin/xmin-settings.ts";
import type { System } from "../../adapters/adapter.ts";
import type { FigureContext } from "./figure.ts";
import { openLoops, type Loops } from "./finish-loops.ts";
import type { Finished, Phase } from "./finish-values.ts";
import { Rate } from "./rate.ts";

export interface FinishSizes {
  backlog: number;
  rounds: number;
  seconds: number;
  heldSeconds: number;
}

/** One system in a database of its own, with consumers in the server and out of it. */
export interface Contender {
  system: string;
  bench: Workbench;
  loops: Loops;
  settings: Settings;
}

const chunk = 10_000;

/** Settings are those of the scenario xmin, saturated and without bystanders. */
export async function openContender(
  { server, synchronousCommit, quick }: FigureContext,
  system: System,
): Promise<Contender> {
  const xmin = resolveSettings({ quick, producers: 4, consumers: 4, batch: 100, sendBatch: 10, rate: 0 });
  const settings: Settings = { ...xmin, synchronousCommit, bystanders: 0, bystanderRows: 1 };
  const bench = await openWorkbench(server, system, settings);
  try {
    const loops = await openLoops(bench, system.name, settings.consumers, settings.batch);
    return { system: system.name, bench, loops, settings };
  } catch (error) {
    await bench.close();
    throw error;
  }
}

/** Rounds of finishing alone, systems in turn. */
export async function drainInTurn(
  context: FigureContext,
  contenders: Contender[],
  { backlog, rounds, seconds }: FinishSizes,
  phase: Phase,
): Promise<Finished> {
  const all = contenders.map((contender) => ({ contender, server: new Rate(), client: new Rate() }));
  for (let n = 0; n < rounds; n++) {
    for (const { contender, server, client } of all) {
      const { bench, loops, settings } = contender;
      context.note(`${phase}, round ${n + 1} of ${rounds}`);
      // Nobody is to wait for messages at the end of a round.
      const left = settings.consumers * settings.batch;
      await fill(context, bench, backlog);
      await drained(context, contender, server, () => loops.drain(seconds, left));
      await fill(context, bench, backlog);
      await drained(context, contender, client, (signal) => drain(bench.load, seconds, signal, left));
    }
  }
  return Object.fromEntries(all.map(({ contender, server, client }) => [contender.system, { server, client }]));
}

/** Each system sends and finishes for so long, one after the other. */
export async function workAtFullSpeed(
  context: FigureContext,
  contenders: Contender[],
  { heldSeconds }: FinishSizes,
): Promise<void> {
  for (const contender of contenders) {
    context.note(`full speed with the horizon held, ${heldSeconds} s each`);
    await driven(context, contender, (signal) => closedLoop(contender.bench.load, heldSeconds, signal));
  }
}

async function drained(
  context: FigureContext,
  contender: Contender,
  rate: Rate,
  drain: (signal: AbortSignal) => Promise<unknown>,
): Promise<void> {
  const { first, last, seconds, serverCpuSeconds } = await driven(context, contender, drain);
  rate.add({ messages: last.dequeued - first.dequeued, seconds, cpuSeconds: serverCpuSeconds });
}

function driven<T>(
  { signal }: FigureContext,
  { bench, settings }: Contender,
  drive: (signal: AbortSignal) => Promise<T>,
): Promise<PhaseMeasurement<T>> {
  return runPhase(bench, settings, { name: "finish", drive, onSample() {} }, signal);
}

async function fill({ signal }: FigureContext, { load }: Workbench, backlog: number): Promise<void> {
  while (load.tally.depth < backlog) {
    signal.throwIfAborted();
    const payloads = Array.from({ length: chunk }, () => payloadDueAt(performance.now(), load.payloadBytes));
    await load.send[0]?.(payloads);
    load.tally.sent(chunk);
  }
}
