import { Gauge, type Registry } from "prom-client";

export type Labels = Record<string, string>;

/** A value of a gauge at a scrape. */
export interface Sample {
  labels: Labels;
  value: number;
}

/** Where metrics are kept, and what their names begin with. Remembers them, to take them out again. */
export class MetricRegistry {
  readonly #registry: Registry;
  readonly #prefix: string;
  readonly #names: string[] = [];

  constructor(registry: Registry, prefix: string) {
    this.#registry = registry;
    this.#prefix = prefix;
  }

  /** What the constructor of every metric is given. */
  metric(name: string, help: string, labelNames: readonly string[]) {
    const full = `${this.#prefix}${name}`;
    this.#names.push(full);
    return { name: full, help, labelNames, registers: [this.#registry] };
  }

  /** A gauge that has, at each scrape, these samples and no others. */
  gauge(name: string, help: string, labelNames: readonly string[], samples: () => Promise<Sample[]>): void {
    const gauge: Gauge = new Gauge({
      ...this.metric(name, help, labelNames),
      async collect() {
        const found = await samples();
        gauge.reset();
        for (const { labels, value } of found) gauge.set(labels, value);
      },
    });
  }

  clear(): void {
    for (const name of this.#names.splice(0)) this.#registry.removeSingleMetric(name);
  }
}
