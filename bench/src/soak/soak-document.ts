import { systemNamed } from "../adapters/registry.ts";
import { horizonNamed } from "../horizons/registry.ts";
import { closing } from "../report/scenario-report.ts";
import { described, heading, list, paragraph, prose, titleOf, type Document } from "../report/document.ts";
import { bytes } from "../report/format.ts";
import { reportRows } from "../report/table.ts";
import { serverLine } from "../report/results.ts";
import { bytesPerHourMax, deadTuplesPerMessageMax, hoursMin, p99ShareMax } from "./drift-limits.ts";
import { soakCharts } from "./soak-charts.ts";
import { driftColumns, figureColumns, textColumns } from "./soak-columns.ts";
import type { MeasuredSoak, SoakResults } from "./soak-results.ts";
import { driftRows, soakCaveats, soakRows, soakVerdicts } from "./soak-summary.ts";

/** The verdicts, how they were come by, and all that is needed to judge them. */
export function soakDocument(results: SoakResults, measured: MeasuredSoak[]): Document {
  const { settings, machine } = results;
  return {
    title: titleOf(results),
    blocks: [
      ...paragraph(soakCaveats(results).join(" ")),
      ...list(soakVerdicts(results)),
      reportRows("What drifts", driftColumns, driftRows(results), textColumns),
      ...paragraph(
        prose(
          "*Change an hour*: the median of the slopes between every two points, with its 95 % range (Theil–Sen). *Flat*: the whole range is below the limit. " +
            "*Grows*: all of it is above. In between it was *too short to say*.",
        ),
      ),
      ...list(limits()),
      heading("More of the same cells"),
      reportRows("More of the same cells", figureColumns, soakRows(results), textColumns),
      ...paragraph(
        prose(
          "*Latency*: from when a message was due to be sent until a consumer had it in hand. *Dead tuples*: in all tables of the system, when the load has stopped and the holder still holds. *Given back*: " +
            "what tables shrank by between two samples, a lower bound. *Memory* and *heap*: of the process that runs producers, consumers and the harness. *Server memory*: what PostgreSQL's processes have for themselves, without shared buffers.",
        ),
      ),
      heading("Over time"),
      { kind: "charts", data: soakCharts(results, measured) },
      ...closing(
        [
          ...settings.systems.map((name) => described(systemNamed(name))),
          ...settings.horizons.map((name) => prose(`**${name}**: ${horizonNamed(name).summary}.`)),
        ],
        settingsLines(results),
        machine,
      ),
    ],
  };
}

function limits(): ReturnType<typeof prose>[] {
  return [
    prose(
      "The first fifth of the samples is left out. A point is the median of a window of samples, at most 60 windows in all; of dead tuples the maximum, which autovacuum brings down again; of size on disk the peak of each whole *rotation*, of systems without any the maximum of a window.",
    ),
    prose(
      `The limit of memory and size on disk is ${bytes(Math.round(bytesPerHourMax))} an hour, a GiB in a week; that of dead tuples one for ${1 / deadTuplesPerMessageMax} messages; that of p99 a growth of ${p99ShareMax * 100} % over the time that is judged. Nothing is said to grow where less than ${hoursMin * 60} minutes are judged.`,
    ),
  ];
}

function settingsLines({ settings }: SoakResults): string[] {
  const { rotation } = settings;
  return [
    `${settings.rate} messages/s for ${settings.seconds} s, open loop, latency from the intended send time; a sample every ${settings.sampleSeconds} s`,
    `${settings.producers} producers, one message a send; ${settings.consumers} consumers, up to ${settings.batch} a receive; payload ${settings.payloadBytes} bytes`,
    `a fresh database for each cell, ${settings.repeat} repeat(s); the horizon is held from before the first message until the last is sent`,
    "a cell counts only when each message that was sent was received once, consumers and harness kept up, and the horizon was held all the time",
    rotation === null
      ? "Pgque rotates as by default"
      : `Pgque rotates at ${rotation.bytes / 2 ** 20} MiB, at most every ${rotation.minIntervalSeconds} s: with its defaults, 64 MiB and 30 s, there were too few rotations to judge by`,
    serverLine(settings),
  ];
}
