import type { Group } from "../adapters/adapter.ts";
import { cpuMs } from "../report/cpu-ms.ts";
import { bytes, spread, whole } from "../report/format.ts";
import type { Column } from "../report/rows-table.ts";
import { spreadOf } from "../report/summary.ts";
import type { SendsFigures } from "./sends-results.ts";
import {
  connectionsText,
  cpuRatioHead,
  payloadText,
  ratioHead,
  ratioText,
  verdictOf,
  type SendsRow,
} from "./sends-summary.ts";

export type SendsColumn = Column<SendsRow>;

const figure =
  (pick: (figures: SendsFigures) => number | null | undefined, format: (value: number) => string) =>
  ({ measured }: SendsRow): string =>
    spread(spreadOf(measured.map(pick)), format);

const percent = (value: number): string => `${whole(value * 100)} %`;

/** How many columns of the tables are text. */
export const textColumns = 3;

/** The answer: the rate, the ratio, and who paid for it. */
export function mainColumns(group: Group): SendsColumn[] {
  return [
    { head: "system", cell: ({ sender }) => sender.name },
    { head: "payload", cell: ({ load }) => payloadText(load.payloadBytes) },
    group === "many"
      ? { head: "in one call", cell: ({ load }) => whole(load.messages) }
      : { head: "on", cell: ({ load }) => connectionsText(load.connections) },
    { head: "messages/s", cell: figure((figures) => figures.messagesPerSecond, whole) },
    { head: ratioHead[group], cell: (row) => ratioText(row) },
    { head: "target", cell: ({ sender }) => sender.target?.text ?? "" },
    { head: "", cell: (row) => verdictOf(row) ?? "" },
    { head: cpuRatioHead[group], cell: (row) => ratioText(row, row.cpuRatio) },
    { head: "server CPU / 1,000", cell: figure((figures) => figures.serverCpuSecondsPerThousand, cpuMs) },
    { head: "client CPU / 1,000", cell: figure((figures) => figures.clientCpuSecondsPerThousand, cpuMs) },
  ];
}

/** What else was measured; in the reports only. */
export function moreColumns(group: Group): SendsColumn[] {
  return [
    ...mainColumns(group).slice(0, textColumns),
    { head: "JSON, mean", cell: figure((figures) => figures.payloadBytesMean, bytes) },
    {
      head: "WAL/message",
      cell: figure(
        (figures) => figures.walBytesPerMessage,
        (value) => `${whole(value)} B`,
      ),
    },
    {
      head: "a call, p50",
      cell: figure(
        (figures) => figures.callMs?.p50,
        (value) => `${value.toFixed(2)} ms`,
      ),
    },
    { head: "client's thread busy", cell: figure((figures) => figures.clientBusy, percent) },
    {
      head: "others' CPU",
      cell: figure(
        (figures) => figures.otherCpuSeconds,
        (value) => `${value.toFixed(1)} s`,
      ),
    },
  ];
}
