import { MultiBar, Presets, type SingleBar } from "cli-progress";
import { cellSecondsExpected } from "../settings.ts";
import { bytes, clock, whole } from "./format.ts";
import type { CellPlan, Progress } from "./progress.ts";
import type { CellResult } from "./results.ts";

/** Where progress is shown: a bar that moves on a terminal, a line for each finished cell anywhere else. */
export function terminalProgress(stream: NodeJS.WriteStream): Progress {
  const view = stream.isTTY ? new BarView(stream) : new LineView(stream);
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

interface View {
  line(text: string): void;
  start(cells: number, cellSeconds: number): void;
  show(text: string): void;
  cellDone(cells: number): void;
  end(): void;
}

class LineView implements View {
  readonly #stream: NodeJS.WriteStream;
  constructor(stream: NodeJS.WriteStream) {
    this.#stream = stream;
  }
  line(text: string): void {
    this.#stream.write(`${text}\n`);
  }
  start(): void {}
  show(): void {}
  cellDone(): void {}
  end(): void {}
}

/** One bar over the whole run, in seconds; what a cell takes longer than expected moves the end. */
class BarView implements View {
  readonly #stream: NodeJS.WriteStream;
  readonly #bars: MultiBar;
  #bar: SingleBar | null = null;
  #timer: NodeJS.Timeout | undefined;
  #cells = 0;
  #cellsDone = 0;
  #cellSeconds = 0;
  #cellStartMs = 0;
  #text = "";

  constructor(stream: NodeJS.WriteStream) {
    this.#stream = stream;
    this.#bars = new MultiBar(
      {
        format: "{bar} {left} left  {text}",
        stream,
        hideCursor: true,
        barsize: 20,
        clearOnComplete: true,
        linewrap: false,
      },
      Presets.shades_classic,
    );
  }

  line(text: string): void {
    // Above the bar once there is one.
    if (this.#bar === null) this.#stream.write(`${text}\n`);
    else this.#bars.log(`${text}\n`);
  }

  start(cells: number, cellSeconds: number): void {
    this.#cells = cells;
    this.#cellSeconds = cellSeconds;
    this.#cellStartMs = performance.now();
    this.#bar = this.#bars.create(cells * cellSeconds, 0, { left: clock(cells * cellSeconds), text: "" });
    this.#timer = setInterval(() => this.#draw(), 500);
    this.#timer.unref();
  }

  show(text: string): void {
    this.#text = text;
    this.#draw();
  }

  cellDone(cells: number): void {
    // Later cells will take as long as earlier ones did.
    const lasted = (performance.now() - this.#cellStartMs) / 1000;
    this.#cellSeconds += (lasted - this.#cellSeconds) / cells;
    this.#cellsDone = cells;
    this.#cellStartMs = performance.now();
    this.#draw();
  }

  end(): void {
    clearInterval(this.#timer);
    // Lines go above the bar when it is next drawn.
    this.#bars.update();
    this.#bars.stop();
    this.#bar = null;
  }

  #draw(): void {
    const inCell = Math.min((performance.now() - this.#cellStartMs) / 1000, this.#cellSeconds);
    const total = this.#cells * this.#cellSeconds;
    const gone = Math.min(total, this.#cellsDone * this.#cellSeconds + inCell);
    this.#bar?.setTotal(total);
    this.#bar?.update(gone, { left: clock(total - gone), text: this.#text });
  }
}
