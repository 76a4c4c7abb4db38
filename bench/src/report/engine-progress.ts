import type { EngineResults, FigureResult } from "./engine-results.ts";
import { viewOn } from "./view.ts";

/** One measurement of one figure, before it is made. */
export interface FigurePlan {
  name: string;
  repeat: number;
}

/** Told what happens while it happens. */
export interface EngineProgress {
  begin(
    run: Pick<EngineResults, "settings" | "machine" | "scenario"> & {
      plan: FigurePlan[];
      postgres: string;
      place: string;
    },
  ): void;
  figureStarted(figure: FigurePlan): void;
  note(text: string): void;
  figureDone(result: FigureResult): void;
  /** Always, also after an error; nothing is drawn after it. */
  end(): void;
}

export const silentEngine: EngineProgress = {
  begin() {},
  figureStarted() {},
  note() {},
  figureDone() {},
  end() {},
};

/** What a figure is taken to last until the first ones have shown it. */
const secondsExpected = { full: 120, quick: 20 };

export function engineTerminalProgress(stream: NodeJS.WriteStream): EngineProgress {
  const view = viewOn(stream);
  let total = 0;
  let done = 0;
  let current = "";
  return {
    begin({ scenario, settings, machine, plan, postgres, place }) {
      total = plan.length;
      view.line(
        `Pgque bench, scenario ${scenario}${settings.quick ? ", quick (indicative)" : ""}: ${settings.figures.join(", ")}, ${settings.repeat} repeat(s), ${machine.cores} cores\n` +
          `PostgreSQL ${postgres} ${settings.embedded ? "(embedded, started for this run)" : `at ${place}`}, ` +
          `fsync ${settings.server["fsync"]}, synchronous_commit ${settings.synchronousCommit}\n`,
      );
      view.start(total, secondsExpected[settings.quick ? "quick" : "full"]);
    },
    figureStarted({ name, repeat }) {
      current = `${done + 1}/${total} ${name}${repeat > 1 ? `, repeat ${repeat}` : ""}`;
      view.show(current);
    },
    note(text) {
      view.show(`${current}: ${text}`);
    },
    figureDone(result) {
      view.cellDone(++done);
      view.line(`${current}: ${outcome(result)}`);
    },
    end() {
      view.end();
    },
  };
}

function outcome({ error, met, target, seconds }: FigureResult): string {
  if (error !== null) return `error: ${error}`;
  if (Object.keys(target).length === 0) return `measured, ${seconds.toFixed(0)} s`;
  const verdict = met === null ? "not all measured" : met ? "met" : "not met";
  return `${verdict}, ${seconds.toFixed(0)} s`;
}
