import { redact } from "@pgque/client/redact";
import { MultiBar, Presets, type SingleBar } from "cli-progress";
import { clock } from "../report/format.ts";
import type { Progress } from "./scenario.ts";

const barOptions = {
  format: "{bar} {left} left  {text}",
  hideCursor: true,
  barsize: 20,
  clearOnComplete: true,
  linewrap: false,
};

/** Where progress is shown: a bar that moves on a terminal, a line for each finished step anywhere else. */
export function terminalProgress(stream: NodeJS.WriteStream): Progress {
  const bars = stream.isTTY ? new MultiBar({ ...barOptions, stream }, Presets.shades_classic) : null;
  /** Over the whole run, in seconds; what a step takes longer than expected moves the end. */
  let bar: SingleBar | undefined;
  let timer: NodeJS.Timeout | undefined;
  let [steps, done, stepSeconds, stepStartMs] = [0, 0, 0, 0];
  let [current, shown] = ["", ""];

  // above the bar once there is one
  const line = (text: string): void => {
    if (bar === undefined) stream.write(`${redact(text)}\n`);
    else bars?.log(`${redact(text)}\n`);
  };
  const lasted = (): number => (performance.now() - stepStartMs) / 1000;
  const draw = (): void => {
    const total = steps * stepSeconds;
    const gone = Math.min(total, done * stepSeconds + Math.min(lasted(), stepSeconds));
    bar?.setTotal(total);
    bar?.update(gone, { left: clock(total - gone), text: redact(shown) });
  };
  const show = (text: string): void => {
    shown = text;
    draw();
  };
  return {
    begin(head, planned, seconds) {
      line(`${head}\n`);
      [steps, stepSeconds, stepStartMs] = [planned, seconds, performance.now()];
      bar = bars?.create(steps * stepSeconds, 0, { left: clock(steps * stepSeconds), text: "" });
      if (bar !== undefined) timer = setInterval(draw, 500).unref();
    },
    stepStarted(text) {
      current = `${done + 1}/${steps} ${text}`;
      show(current);
    },
    note: (text) => show(`${current}: ${text}`),
    stepDone(text) {
      done += 1;
      // later steps will take as long as earlier ones did
      stepSeconds += (lasted() - stepSeconds) / done;
      stepStartMs = performance.now();
      draw();
      line(`${current}: ${text}`);
    },
    end() {
      clearInterval(timer);
      // lines go above the bar when it is next drawn
      bars?.update();
      bars?.stop();
      bar = undefined;
    },
  };
}
