import type { LatencySummary } from "../../measure/histogram.ts";
import { quotient } from "../../measure/statistics.ts";
import type { Target } from "../../runner/target.ts";
import type { Server } from "../../runner/server.ts";

/** One number of a microbenchmark; null in the results where it could not be measured. */
export interface Value {
  label: string;
  format: (value: number) => string;
  target: Target | undefined;
}

/** A value as it is declared: with where it is found in what was measured. */
export type DeclaredValue<Measured> = [
  label: string,
  format: Value["format"],
  read: (measured: Measured) => number | null | undefined,
  target?: Target | undefined,
];

export interface MicrobenchmarkContext {
  server: Server;
  /** The run's. */
  synchronousCommit: "on" | "off";
  quick: boolean;
  signal: AbortSignal;
  /** Says what is under way. */
  note: (text: string) => void;
}

type Sizes<Size extends string> = Record<"full" | "quick", Record<Size, number>>;

/** One thing to know about the engine. */
export interface Microbenchmark {
  name: string;
  /** What is measured, in one sentence. */
  statement: string;
  /** One line for every choice that the numbers depend on. */
  method: string[];
  sizes: Sizes<string>;
  /** In the order of the tables. */
  values: Record<string, Value>;
  /** In databases of its own, which it drops. */
  measure(context: MicrobenchmarkContext, sizes: Record<string, number>): Promise<Record<string, number | null>>;
}

/** In a declaration `measure` stands before `values`, which are read from its result: so their types can be inferred. */
export function defineMicrobenchmark<Size extends string, Measured>(declared: {
  name: string;
  statement: string;
  method: string[];
  sizes: Sizes<Size>;
  measure(context: MicrobenchmarkContext, sizes: Record<Size, number>): Promise<Measured>;
  values: Record<string, DeclaredValue<NoInfer<Measured>>>;
}): Microbenchmark {
  const all = Object.entries(declared.values);
  return {
    ...declared,
    values: Object.fromEntries(all.map(([key, [label, format, , target]]) => [key, { label, format, target }])),
    async measure(context, sizes) {
      const measured = await declared.measure(context, sizes);
      return Object.fromEntries(all.map(([key, [, , read]]) => [key, read(measured) ?? null]));
    },
  };
}

export async function timed<T>(times: { record(ms: number): void }, call: () => Promise<T>): Promise<T> {
  const startMs = performance.now();
  const result = await call();
  times.record(performance.now() - startMs);
  return result;
}

/** Of medians: null where one of them was not measured. */
export const medianRatio = (of: LatencySummary | null, over: LatencySummary | null): number | null =>
  quotient(of?.p50 ?? null, over?.p50 ?? null);

/** What several rounds come to together. */
export class Rate {
  #messages = 0;
  #seconds = 0;
  #cpuSeconds: number | null = 0;

  /** `serverCpuSeconds`: null where the server's processes cannot be seen. */
  add(round: { messages: number; seconds: number; serverCpuSeconds: number | null }): void {
    this.#messages += round.messages;
    this.#seconds += round.seconds;
    this.#cpuSeconds =
      this.#cpuSeconds === null || round.serverCpuSeconds === null ? null : this.#cpuSeconds + round.serverCpuSeconds;
  }

  get perSecond(): number | null {
    return quotient(this.#messages, this.#seconds);
  }

  get cpuMicros(): number | null {
    return this.#cpuSeconds === null ? null : quotient(this.#cpuSeconds * 1_000_000, this.#messages);
  }
}
