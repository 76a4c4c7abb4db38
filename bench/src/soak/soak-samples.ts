import { ownMemory, serverMemory } from "../measure/processes.ts";
import type { Sample } from "../measure/sampler.ts";
import type { Workbench } from "../xmin/workbench.ts";
import type { SoakWatch } from "./soak-watch.ts";

/** At every so many samples the harness's garbage is collected, which halts it: the p99 of that window may be the worse for it, the median of windows is not. */
const collectEvery = 6;

/** One look at everything, and at what a soak is about besides. Null: could not be seen. */
export interface SoakSample extends Sample {
  /** Of messages received since the sample before. */
  latencyP50Ms: number | null;
  latencyP99Ms: number | null;
  /** Of the process of producers, consumers and the harness itself. */
  clientRssBytes: number;
  /** Of the same, when its garbage was collected; null in between. */
  clientHeapBytes: number | null;
  /** What the server's processes have for themselves: no shared buffers. */
  serverMemoryBytes: number | null;
}

/** Adds what only a soak looks at to each sample, and keeps it. */
export async function keepingSamples(
  bench: Workbench,
  watch: SoakWatch,
  samples: SoakSample[],
): Promise<(sample: Sample) => Promise<SoakSample>> {
  const own = ownMemory();
  const server = await serverMemory(bench.admin);
  return async (sample) => {
    const latency = watch.takeLatency();
    const serverMemoryBytes = (await server?.bytes()) ?? null;
    const { rssBytes, heapBytes } = own(samples.length % collectEvery === 0);
    const kept = {
      ...sample,
      latencyP50Ms: latency?.p50 ?? null,
      latencyP99Ms: latency?.p99 ?? null,
      clientRssBytes: rssBytes,
      clientHeapBytes: heapBytes,
      serverMemoryBytes,
    };
    samples.push(kept);
    return kept;
  };
}
