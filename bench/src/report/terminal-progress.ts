import { cellSecondsExpected } from "../settings.ts";
import { bytes, whole } from "./format.ts";
import type { CellPlan, Progress } from "./progress.ts";
import type { CellResult } from "./results.ts";
import { viewOn } from "./view.ts";

/** Where progress is shown: a bar that moves on a terminal, a line for each finished cell anywhere else. */
export function terminalProgress(stream: NodeJS.WriteStream): Progress {
  const view = viewOn(stream);
  let cells: CellPlan[] = [];
  let done = 0;
  let before: { seconds: number; dequeued: number } | null = null;
  let phase = "";
  const of = (cell: CellPlan): string => `${done + 1}/${cells.length} ${cell.system}, ${cell.horizon}`;
  let current = "";
  return {
    begin(run) {
      cells = run.cells;
      const { settings, machine } = run;
      const load = settings.mode === "saturated" ? "saturated" : `${settings.rate} messages/s`;
      const seconds = cellSecondsExpected(settings);
      view.line(
        `Pgque bench, scenario ${run.scenario}${settings.quick ? ", quick (indicative)" : ""}: ${cells.length} cells of about ${seconds} s, ${load},\n` +
          `${settings.producers} producers, ${settings.consumers} consumers, ${settings.bystanders} bystanders, ${machine.cores} cores\n` +
          `PostgreSQL ${run.postgres} ${settings.embedded ? "(embedded, started for this run)" : `at ${run.place}`}, ` +
          `fsync ${settings.server["fsync"]}, synchronous_commit ${settings.synchronousCommit}\n`,
      );
      view.start(cells.length, seconds);
    },
    cellStarted(cell) {
      current = of(cell);
      before = null;
      phase = "set-up";
      view.show(`${current}: set-up`);
    },
    phaseStarted(name) {
      phase = name;
      before = null;
      view.show(`${current}: ${name}`);
    },
    sampled(sample) {
      const seconds = before === null ? 0 : sample.seconds - before.seconds;
      const rate =
        before === null || seconds < 0.2 ? "" : `${whole((sample.dequeued - before.dequeued) / seconds)}/s, `;
      if (before === null || seconds >= 0.2) before = sample;
      view.show(`${current}: ${phase}, ${rate}${whole(sample.deadTuples)} dead, backlog ${whole(sample.depth)}`);
    },
    cellDone(result) {
      view.cellDone(++done);
      view.line(`${done}/${cells.length} ${cellLine(result)}`);
    },
    end() {
      view.end();
    },
  };
}

function cellLine(cell: CellResult): string {
  const name = `${cell.system}, ${cell.horizon}${cell.repeat > 1 ? `, repeat ${cell.repeat}` : ""}`;
  if (cell.error !== null) return `${name}: error: ${cell.error}`;
  return (
    `${name}: ${whole(cell.dequeuedPerSecond ?? 0)}/s finished, ${whole(cell.deadTuples ?? 0)} dead tuples, ` +
    `${bytes(cell.bytes ?? 0)} on disk`
  );
}
