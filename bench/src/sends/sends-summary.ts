import { sendersOf, sendsLoads } from "./sends-plan.ts";
import { reference, senderNamed } from "../adapters/registry.ts";
import type { Sender } from "../adapters/adapter.ts";
import { quotient } from "../measure/quotient.ts";
import type { Target } from "../scenario/target.ts";
import { outcomeLine, outcomeOf, withoutFigures, type TargetOutcome } from "../targets/outcome.ts";
import { disturbed } from "../report/disturbed.ts";
import { bytes, ratio, spread, whole } from "../report/format.ts";
import type { Spread } from "../report/results.ts";
import type { SendsCell, SendsFigures, SendsPlan, SendsResults } from "./sends-results.ts";
import { spreadOf } from "../report/summary.ts";

/** All repeats of one sender under one load. */
export interface SendsRow {
  load: Omit<SendsPlan, "system" | "repeat">;
  sender: Sender;
  /** Only those with figures. */
  measured: SendsFigures[];
  /** Within each repeat: of `many` the rate of pgque over this one's, of `one` this one's over that of insert. */
  ratio: Spread | null;
  /** How much less CPU, server and client together, pgque uses for a message, or this one than insert; within each repeat. */
  cpuRatio: Spread | null;
  errors: string[];
  notRun: string[];
}

/** In the order of the tables. */
export function sendsRows(results: SendsResults): SendsRow[] {
  return sendsLoads(results.settings).flatMap((load) =>
    sendersOf(load.group, results.settings).flatMap((system): SendsRow[] => {
      const cells = cellsOf(results, load, system);
      if (cells.length === 0) return [];
      const references = cellsOf(results, load, reference[load.group]);
      return [
        {
          load,
          sender: senderNamed(load.group, system),
          measured: cells.flatMap(({ figures }) => figures ?? []),
          ratio: ratioOf(cells, references, (figures) => figures.messagesPerSecond),
          cpuRatio: ratioOf(cells, references, messagesPerCpuSecond),
          errors: distinct(cells.map(({ error }) => error)),
          notRun: distinct(cells.map(({ notRun }) => notRun)),
        },
      ];
    }),
  );
}

function cellsOf({ cells }: SendsResults, load: SendsRow["load"], system: string): SendsCell[] {
  return cells.filter(
    (cell) =>
      cell.system === system &&
      cell.group === load.group &&
      cell.payloadBytes === load.payloadBytes &&
      cell.messages === load.messages &&
      cell.connections === load.connections,
  );
}

function ratioOf(
  cells: SendsCell[],
  references: SendsCell[],
  pick: (figures: SendsFigures) => number | null,
): Spread | null {
  return spreadOf(
    cells.map(({ group, repeat, figures }) => {
      const other = references.find((cell) => cell.repeat === repeat)?.figures;
      if (figures === null || !other) return null;
      const [pgque, against] = group === "many" ? [other, figures] : [figures, other];
      return quotient(pick(pgque), pick(against));
    }),
  );
}

function messagesPerCpuSecond({
  serverCpuSecondsPerThousand: server,
  clientCpuSecondsPerThousand: client,
}: SendsFigures): number | null {
  return server === null ? null : quotient(1000, server + client);
}

const distinct = (texts: (string | null)[]): string[] => [...new Set(texts.filter((text) => text !== null))];

export type SendsVerdict = "met" | "not met" | "not measured" | null;

/** Of the median; null without a target. */
export function verdictOf({ sender, ratio: measured }: SendsRow): SendsVerdict {
  if (sender.target === undefined) return null;
  if (measured === null) return "not measured";
  return sender.target.met(measured.median) ? "met" : "not met";
}

/** What is compared with what. */
export const ratioHead = { many: "pgque / this", one: "this / insert" };

/** The same of CPU: the other way round, so that more is better in both. */
export const cpuRatioHead = { many: "CPU, this / pgque", one: "CPU, insert / this" };

/** The row of a sender that is compared with itself says nothing. */
export function ratioText(row: SendsRow, value: Spread | null = row.ratio): string {
  return row.sender.name === reference[row.load.group] ? "" : spread(value, ratio);
}

export function loadText({ group, payloadBytes, messages, connections }: SendsRow["load"]): string {
  const calls = group === "many" ? `${whole(messages)} a call` : connectionsText(connections);
  return `${payloadText(payloadBytes)}, ${calls}`;
}

export const payloadText = (payloadBytes: number): string => bytes(payloadBytes).replace(".0", "");

export const connectionsText = (count: number): string => `${count} connection${count === 1 ? "" : "s"}`;

/** One sentence for each target: what is compared, what it came to at worst and at best, and whether that is enough. */
export const sendsVerdicts = (rows: SendsRow[]): string[] => sendsOutcomes(rows).map(outcomeLine);

export function sendsOutcomes(rows: SendsRow[]): TargetOutcome[] {
  const withTarget = new Map<string, SendsRow[]>();
  for (const row of rows.filter(({ sender }) => sender.target !== undefined)) {
    const key = `${row.load.group} ${row.sender.name}`;
    withTarget.set(key, [...(withTarget.get(key) ?? []), row]);
  }
  return [...withTarget.values()].flatMap((own) => {
    const [{ sender, load }] = own as [SendsRow];
    const what = `${load.group}, ${ratioHead[load.group].replace("this", sender.name)}`;
    const references = rows.filter((row) => row.load.group === load.group && row.sender.name === reference[load.group]);
    return sender.target === undefined ? [] : [outcomeOfLoads(what, sender.target, own, references)];
  });
}

/** Of all loads: met when it is with each. */
function outcomeOfLoads(what: string, target: Target, rows: SendsRow[], references: SendsRow[]): TargetOutcome {
  const reasons = {
    errors: [...rows, ...references].flatMap(({ errors }) => errors),
    notRun: rows.flatMap(({ notRun }) => notRun),
  };
  const none = withoutFigures(what, target, reasons);
  if (none !== null) return none;
  const medians = spreadOf(rows.map((row) => row.ratio?.median));
  if (medians === null) return outcomeOf(what, target, ratio, { measured: null });
  const missed = rows
    .filter((row) => verdictOf(row) !== "met")
    .map((row) => `${loadText(row.load)}: ${ratioText(row)}`);
  const measured =
    medians.min === medians.max
      ? `median ${ratio(medians.min)}`
      : `medians from ${ratio(medians.min)} to ${ratio(medians.max)}`;
  const [verdict, because] = missed.length === 0 ? (["met", null] as const) : (["not met", missed.join("; ")] as const);
  return { what, target: target.text, measured, verdict, because };
}

/** All that the reader should know of the run before the numbers. */
export function sendsCaveats({ settings, machine, cells, interrupted }: SendsResults): string[] {
  const measured = cells.flatMap(({ figures, ...load }) =>
    figures === null ? [] : [{ name: `${load.system}, ${loadText(load)}`, ...figures }],
  );
  return [
    ...(settings.indicative ? ["Indicative only: short, and once."] : []),
    "The client shares the cores with the servers: compare ratios, not rates.",
    ...(settings.embedded ? [] : ["On a server that was given: its own settings apply, other work on it counts."]),
    ...disturbed(measured, machine.cores),
    ...(interrupted ? ["Interrupted: only what was measured until then."] : []),
  ];
}
