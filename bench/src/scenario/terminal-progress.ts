import { redact } from "@pgque/client/redact";
import type { Progress } from "./progress.ts";
import { viewOn } from "./view.ts";

/** Where progress is shown: a bar that moves on a terminal, a line for each finished step anywhere else. */
export function terminalProgress(stream: NodeJS.WriteStream): Progress {
  const view = viewOn(stream);
  let total = 0;
  let done = 0;
  let current = "";
  return {
    begin(head, steps, stepSeconds) {
      total = steps;
      view.line(redact(`${head}\n`));
      view.start(steps, stepSeconds);
    },
    stepStarted(text) {
      current = `${done + 1}/${total} ${text}`;
      view.show(redact(current));
    },
    note(text) {
      view.show(redact(`${current}: ${text}`));
    },
    stepDone(text) {
      view.cellDone(++done);
      view.line(redact(`${current}: ${text}`));
    },
    end() {
      view.end();
    },
  };
}
