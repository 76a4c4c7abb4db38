/** Told what happens while it happens. The run goes on without anyone listening. */
export interface Progress {
  /** Once. `head`: what is run, and where. */
  begin(head: string, steps: number, stepSeconds: number): void;
  stepStarted(text: string): void;
  note(text: string): void;
  stepDone(text: string): void;
  /** Always, also after an error; nothing is drawn after it. */
  end(): void;
}

export const silent: Progress = { begin() {}, stepStarted() {}, note() {}, stepDone() {}, end() {} };
