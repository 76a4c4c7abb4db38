import type { Group, Sender } from "../../adapters/adapter.ts";
import { reference, senderNamed } from "../../adapters/registry.ts";
import { cpuMs, bytes, ratio, spread, whole } from "../../report/format.ts";
import { noise, caveatsOf, figureOf, medians, reporting, type ScenarioReport } from "../../report/scenario-report.ts";
import { described, headed, prose, type TableBlock } from "../../report/document.ts";
import type { Spread } from "../../report/results.ts";
import { reportRows, type Column } from "../../report/table.ts";
import { spreadOf } from "../../measure/statistics.ts";
import {
  emptyResults,
  messagesPerCpuSecond,
  ratioOf,
  rowOf,
  someFailed,
  type Trial,
  type TrialResults,
  type FiguresRow,
  outcomeText,
  repeatText,
} from "../../runner/trials.ts";
import { runScenario, type Run, type RunHooks } from "../../runner/run.ts";
import type { Scenario } from "../../runner/scenario.ts";
import {
  type Target,
  outcomeLine,
  outcomeOf,
  targetColumns,
  verdictOf,
  withoutFigures,
  type TargetOutcome,
} from "../../runner/target.ts";
import { measureSends, type SendFigures } from "./measure.ts";
import {
  resolveSendSettings,
  sendersOf,
  sendLoads,
  sendPlan,
  type SendLoad,
  type SendOptions,
  type SendPlan,
  type SendSettings,
} from "./plan.ts";

export type SendTrial = Trial<SendPlan, SendFigures>;
export type SendResults = TrialResults<SendSettings, SendTrial>;

/** A database, a schema and the connections of a trial. */
const overheadSeconds = 2;

/** The trials of one load are a step: they are measured together. */
export const send: Scenario<SendOptions, SendSettings, SendPlan[], SendTrial[], SendResults> = {
  name: "send",
  resolve: resolveSendSettings,
  results: emptyResults,
  plan: (settings) => sendPlan(settings).filter((trials) => trials.length > 0),
  measure: measureSends,
  keep: ({ trials }, measured) => void trials.push(...measured),
  ...reporting(sendReport),
  failed: someFailed,
  headline: ({ settings }) =>
    `${settings.systems.join(", ")}; ${settings.seconds} s a trial, ${settings.repeat} repeat(s)`,
  stepSeconds: ({ seconds, warmupSeconds }, steps) =>
    (steps.flat().length / steps.length) * (seconds + warmupSeconds + overheadSeconds),
  stepText: ([trial]) => (trial === undefined ? "" : `${trial.group}, ${loadText(trial)}${repeatText(trial.repeat)}`),
  measuredText: (trials) =>
    trials
      .map((trial) => `${trial.system} ${outcomeText(trial, (figures) => `${whole(figures.messagesPerSecond)}/s`)}`)
      .join(", "),
};

/** Measures every way to send under every load, as often as asked. See runScenario. */
export function runSend(given: SendOptions, hooks: RunHooks = {}): Promise<Run<SendResults>> {
  return runScenario(send, given, hooks);
}

/** All repeats of one sender under one load. */
interface SendRow extends FiguresRow<SendFigures> {
  load: SendLoad;
  sender: Sender;
  /** Within each repeat: of `many` the rate of pgque over this one's, of `one` this one's over that of insert. */
  ratio: Spread | null;
  /** How much less CPU, server and client together, pgque uses for a message, or this one than insert; within each repeat. */
  cpuRatio: Spread | null;
}

/** In the order of the tables. */
export function sendRows({ trials, settings }: SendResults): SendRow[] {
  return sendLoads(settings).flatMap((load) => {
    const of = (name: string): SendTrial[] => trials.filter((trial) => trial.system === name && sameLoad(trial, load));
    return sendersOf(load.group, settings).flatMap((system): SendRow[] => {
      const row = rowOf(of(system));
      if (row === null) return [];
      const both = [of(reference[load.group]), of(system)] as const;
      const [over, under] = load.group === "many" ? both : [both[1], both[0]];
      return [
        {
          ...row,
          load,
          sender: senderNamed(load.group, system),
          ratio: ratioOf(over, under, ({ messagesPerSecond }) => messagesPerSecond),
          cpuRatio: ratioOf(over, under, messagesPerCpuSecond),
        },
      ];
    });
  });
}

function sameLoad(one: SendLoad, other: SendLoad): boolean {
  return (["group", "payloadBytes", "messages", "connections"] as const).every((each) => one[each] === other[each]);
}

/** What is compared with what. */
const ratioHead = { many: "pgque / this", one: "this / insert" };

/** The same of CPU: the other way round, so that more is better in both. */
const cpuRatioHead = { many: "CPU, this / pgque", one: "CPU, insert / this" };

/** The row of a sender that is compared with itself says nothing. */
function ratioText(row: SendRow, value: Spread | null = row.ratio): string {
  return row.sender.name === reference[row.load.group] ? "" : spread(value, ratio);
}

const payloadText = (payloadBytes: number): string => bytes(payloadBytes).replace(".0", "");
const connectionsText = (count: number): string => `${count} connection${count === 1 ? "" : "s"}`;

function loadText({ group, payloadBytes, messages, connections }: SendLoad): string {
  const calls = group === "many" ? `${whole(messages)} a call` : connectionsText(connections);
  return `${payloadText(payloadBytes)}, ${calls}`;
}

/** One for each target: what is compared, what it came to at worst and at best, and whether that is enough. */
export function sendOutcomes(rows: SendRow[]): TargetOutcome[] {
  const bySender = Map.groupBy(rows, ({ load, sender }) => `${load.group} ${sender.name}`);
  return [...bySender.values()].flatMap((own) => {
    const [{ sender, load }] = own as [SendRow];
    if (sender.target === undefined) return [];
    const what = `${load.group}, ${ratioHead[load.group].replace("this", sender.name)}`;
    const references = rows.filter((row) => row.load.group === load.group && row.sender.name === reference[load.group]);
    return [outcomeOfLoads(what, sender.target, own, references)];
  });
}

/** Of all loads: met when it is with each. */
function outcomeOfLoads(what: string, target: Target, rows: SendRow[], references: SendRow[]): TargetOutcome {
  const none = withoutFigures(what, target, {
    errors: [...rows, ...references].flatMap(({ errors }) => errors),
    skipped: rows.flatMap(({ skipped }) => skipped),
  });
  if (none !== null) return none;
  const all = spreadOf(rows.map((row) => row.ratio?.median));
  if (all === null) return outcomeOf(what, target, ratio, { measured: null });
  const missed = rows
    .filter((row) => verdictOf(target, row.ratio) !== "met")
    .map((row) => `${loadText(row.load)}: ${ratioText(row)}`);
  const measured =
    all.min === all.max ? `median ${ratio(all.min)}` : `medians from ${ratio(all.min)} to ${ratio(all.max)}`;
  const [verdict, because] = missed.length === 0 ? (["met", null] as const) : (["not met", missed.join("; ")] as const);
  return { what, target: target.text, measured, verdict, because };
}

const figure = figureOf<SendFigures>();

const identity = (group: Group): Column<SendRow>[] => [
  { head: "system", cell: ({ sender }) => sender.name },
  { head: "payload", cell: ({ load }) => payloadText(load.payloadBytes) },
  group === "many"
    ? { head: "in one call", cell: ({ load }) => whole(load.messages) }
    : { head: "on", cell: ({ load }) => connectionsText(load.connections) },
];

/** The answer: the rate, the ratio, and who paid for it. */
const mainColumns = (group: Group): Column<SendRow>[] => [
  ...identity(group),
  { head: "messages/s", cell: figure((figures) => figures.messagesPerSecond, whole) },
  { head: ratioHead[group], cell: (row) => ratioText(row) },
  ...targetColumns<SendRow>(({ sender }) => sender.target),
  { head: cpuRatioHead[group], cell: (row) => ratioText(row, row.cpuRatio) },
  { head: "server CPU / 1,000", cell: figure((figures) => figures.serverCpuSecondsPerThousand, cpuMs) },
  { head: "client CPU / 1,000", cell: figure((figures) => figures.clientCpuSecondsPerThousand, cpuMs) },
];

/** What else was measured; in the reports only. */
const moreColumns = (group: Group): Column<SendRow>[] => [
  ...identity(group),
  { head: "JSON, mean", cell: figure(({ payloadBytesMean }) => payloadBytesMean, bytes) },
  {
    head: "WAL/message",
    cell: figure(
      ({ walBytesPerMessage }) => walBytesPerMessage,
      (value) => `${whole(value)} B`,
    ),
  },
  {
    head: "a call, p50",
    cell: figure(
      ({ callMs }) => callMs?.p50,
      (value) => `${value.toFixed(2)} ms`,
    ),
  },
  {
    head: "client's thread busy",
    cell: figure(
      ({ clientBusy }) => clientBusy,
      (share) => `${whole(share * 100)} %`,
    ),
  },
  {
    head: "others' CPU",
    cell: figure(
      ({ otherCpuSeconds }) => otherCpuSeconds,
      (value) => `${value.toFixed(1)} s`,
    ),
  },
];

const titles: Record<Group, string> = {
  many: "Many messages in one call, on one connection",
  one: "One message in one call and transaction",
};

function sendReport(results: SendResults): ScenarioReport {
  const rows = sendRows(results);
  const { settings, trials, machine } = results;
  const groups = [...new Set(rows.map(({ load }) => load.group))];
  const table = (group: Group, columns: Column<SendRow>[], suffix = ""): TableBlock =>
    reportRows(
      titles[group] + suffix,
      columns,
      rows.filter(({ load }) => load.group === group),
      identity(group).length,
    );
  const measured = trials.flatMap(({ figures, ...load }) =>
    figures === null ? [] : [{ name: `${load.system}, ${loadText(load)}`, ...figures }],
  );
  return {
    caveats: [
      ...caveatsOf(
        results,
        "short, and once.",
        "The client shares the cores with the servers: compare ratios, not rates.",
      ),
      ...noise(measured, machine.cores),
    ],
    verdicts: sendOutcomes(rows).map(outcomeLine),
    intro: medians(results).replace(/\.$/, "; targets are compared with its median."),
    table: groups.map((group) => table(group, mainColumns(group))),
    more: [
      ...groups.flatMap((group) => headed(table(group, moreColumns(group), ": more of the same"))),
      "*Server CPU*: of all of PostgreSQL's processes, or of Redis, for a thousand messages. *Client CPU*: of the process that sends. Their sum is compared in the column of ratios of CPU, which depends less on what else the machine does. *Others' CPU*: of whatever else ran on the machine during a trial.",
    ],
    systems: groups.flatMap((group) =>
      sendersOf(group, settings).map((name) => {
        const sender = senderNamed(group, name);
        return { ...described(sender), text: prose(`**${name}** (${group}): ${sender.summary}.`) };
      }),
    ),
    settings: [
      `${settings.repeat} repeat(s); under each load the systems in turn, in rounds of about ${settings.roundSeconds} s, so that what else the machine does meets all; who comes first changes from repeat to repeat`,
      `${settings.seconds} s a trial after ${settings.warmupSeconds} s that do not count, each in a database, or a Redis, of its own; a checkpoint before each load; a closed loop of one call on each connection, driven by tinybench`,
      "payloads are orders with their lines, made before the trial as objects: every system turns them into JSON itself",
      "what is stored is counted after each trial; if it is not what was sent, the trial is an error. Nobody receives and nobody waits for messages",
      `synchronous_commit ${settings.synchronousCommit} on every connection: a call returns when its messages are on the disk`,
    ],
  };
}
