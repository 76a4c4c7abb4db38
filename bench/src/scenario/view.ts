import { MultiBar, Presets, type SingleBar } from "cli-progress";
import { clock } from "../report/format.ts";

/** A bar that moves on a terminal, lines alone anywhere else. */
export function viewOn(stream: NodeJS.WriteStream): View {
  return stream.isTTY ? new BarView(stream) : new LineView(stream);
}

/** Where lines and the state of a run are shown. */
export interface View {
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
