import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** Of this process. */
export interface OwnMemory {
  rssBytes: number;
  /** Of what is still in use; null unless garbage was collected. */
  heapBytes: number | null;
}

/** Looks at this process's memory, if asked to after a full garbage collection, which halts it for tens of milliseconds. */
export function ownMemory(): (collect: boolean) => OwnMemory {
  setFlagsFromString("--expose-gc");
  // only contexts that are made from now on have it
  const collectGarbage = runInNewContext("gc") as () => void;
  return (collect) => {
    if (collect) collectGarbage();
    const { rss, heapUsed } = process.memoryUsage();
    return { rssBytes: rss, heapBytes: collect ? heapUsed : null };
  };
}
