import { emptyResults, someFailed } from "../scenario/cells.ts";
import { whole } from "../report/format.ts";
import { sendsDocument } from "./sends-document.ts";
import type { SendsCell, SendsPlan, SendsResults } from "./sends-results.ts";
import { loadText } from "./sends-summary.ts";
import { sendsTerminalReport } from "./sends-table.ts";
import { runScenario, type Run, type RunHooks } from "../scenario/run.ts";
import type { Scenario } from "../scenario/scenario.ts";
import { outcomeText, repeatText } from "../scenario/texts.ts";
import { resolveSendsSettings, type SendsOptions, type SendsSettings } from "./sends-settings.ts";
import { sendsPlan } from "./sends-plan.ts";
import { measureInTurn } from "./sends-turns.ts";

/** A database, a schema and the connections of a cell. */
const overheadSeconds = 2;

/** The cells of one load are a step: they are measured together. */
const sends: Scenario<SendsOptions, SendsSettings, SendsPlan[], SendsCell[], SendsResults> = {
  name: "sends",
  resolve: resolveSendsSettings,
  results: emptyResults,
  plan: (settings) => sendsPlan(settings).filter((cells) => cells.length > 0),
  measure: (cells, { server, settings, signal }) => measureInTurn(server, cells, settings, signal),
  keep: ({ cells }, measured) => void cells.push(...measured),
  document: sendsDocument,
  report: sendsTerminalReport,
  failed: someFailed,
  headline: ({ settings }) =>
    `${settings.systems.join(", ")}; ${settings.seconds} s a cell, ${settings.repeat} repeat(s)`,
  stepSeconds: ({ seconds, warmupSeconds }, steps) =>
    (steps.flat().length / steps.length) * (seconds + warmupSeconds + overheadSeconds),
  stepText: ([cell]) => (cell === undefined ? "" : `${cell.group}, ${loadText(cell)}${repeatText(cell.repeat)}`),
  measuredText: (cells) => cells.map((cell) => `${cell.system} ${outcomeText(cell, rate)}`).join(", "),
};

const rate = ({ messagesPerSecond }: NonNullable<SendsCell["figures"]>): string => `${whole(messagesPerSecond)}/s`;

/** Measures every way to send under every load, as often as asked. See runScenario. */
export function runSends(options: SendsOptions, hooks: RunHooks = {}): Promise<Run<SendsResults>> {
  return runScenario(sends, options, hooks);
}
