import { once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import { showAge } from "../output/duration.ts";
import { explain } from "../output/failure.ts";
import { columns } from "./columns.ts";
import { Screen } from "./screen.ts";
import type { Snapshot } from "./snapshot.ts";
import { render } from "./view.ts";

/** What the screen shows, and how often. */
export interface RefreshOptions {
  title: string;
  intervalMs: number;
  sort: string;
  /** Looks once; connects again where it has to. */
  look: () => Promise<Snapshot>;
}

/** A look that takes this long is told of, and then as often. */
const reportAfterMs = 1000;

/** It has worked all the time and then gave up; whatever else fails was no work. */
const statementTimeout = "57014";

const keys = `q quit   r reverse   sort: ${columns.map(({ key, title }) => `${key} ${title}`).join("  ")}`;

/** Shows a snapshot at every interval until the signal is aborted or somebody presses q. */
export async function refresh({ title, intervalMs, sort, look }: RefreshOptions, over: AbortSignal): Promise<void> {
  const quit = new AbortController();
  const signal = AbortSignal.any([over, quit.signal]);
  const view = { sort, isReversed: false, footer: keys };
  let snapshot = await look();
  const draw = (): void =>
    screen.draw(render(snapshot, { ...view, title, width: screen.width, height: screen.height }));
  const press = (key: string): void => {
    // an arrow, say
    if (key.startsWith("\u001b")) return;
    // Ctrl-C is a key like others here, and several may come at once
    for (const one of key) {
      if (one === "q" || one === "\u0003") quit.abort();
      else if (one === "r") view.isReversed = !view.isReversed;
      else if (columns.some((column) => column.key === one)) view.sort = one;
    }
    draw();
  };
  const screen = new Screen({ in: process.stdin, out: process.stdout }, { key: press, resize: draw });
  const stopped = once(signal, "abort");
  screen.open();
  try {
    draw();
    let tookMs = 0;
    while (!signal.aborted) {
      await pause(Math.max(intervalMs, tookMs), undefined, { signal }).catch(() => undefined);
      tookMs = await Promise.race([refresh(), stopped.then(() => 0)]);
    }
  } finally {
    screen.close();
  }

  /** A new snapshot, or why there is none. Returns what it took the server, which rests for at least as long. */
  async function refresh(): Promise<number> {
    const started = performance.now();
    let isWork = true;
    // what is shown is old by then
    const waiting = setInterval(() => {
      view.footer = `no answer for ${showAge(performance.now() - started)}, still waiting`;
      draw();
    }, reportAfterMs);
    try {
      snapshot = await look();
      view.footer = keys;
    } catch (error) {
      view.footer = `no answer, will try again: ${explain(error).split("\n", 1)[0]}`;
      isWork = (error as { code?: unknown }).code === statementTimeout;
    } finally {
      clearInterval(waiting);
    }
    draw();
    return isWork ? performance.now() - started : 0;
  }
}
