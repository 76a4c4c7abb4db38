import type { Registry } from "prom-client";

/** Where metrics are kept, and what their names begin with. Remembers them, to take them out again. */
export class MetricRegistry {
  readonly registry: Registry;
  readonly #prefix: string;
  readonly #names: string[] = [];

  constructor(registry: Registry, prefix: string) {
    this.registry = registry;
    this.#prefix = prefix;
  }

  /** What the constructor of every metric is given. */
  metric<Label extends string>(name: string, help: string, labelNames: readonly Label[]) {
    const full = `${this.#prefix}${name}`;
    this.#names.push(full);
    return { name: full, help, labelNames, registers: [this.registry] };
  }

  clear(): void {
    for (const name of this.#names.splice(0)) this.registry.removeSingleMetric(name);
  }
}
