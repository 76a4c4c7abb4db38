import { backlog } from "./microbenchmarks/backlog.ts";
import { call } from "./microbenchmarks/call.ts";
import { features } from "./microbenchmarks/features.ts";
import { finish } from "./microbenchmarks/finish.ts";
import { idle } from "./microbenchmarks/idle.ts";
import { latency } from "./microbenchmarks/latency.ts";
import { memory } from "./microbenchmarks/memory.ts";
import { queues } from "./microbenchmarks/queues.ts";
import { ring } from "./microbenchmarks/ring.ts";
import { rotation } from "./microbenchmarks/rotation.ts";
import { send } from "./microbenchmarks/send.ts";
import { settle } from "./microbenchmarks/settle.ts";
import { wal } from "./microbenchmarks/wal.ts";
import type { Microbenchmark } from "./microbenchmark.ts";

/** In the order of the report. */
const microbenchmarks: Microbenchmark[] = [
  send,
  finish,
  wal,
  idle,
  latency,
  call,
  backlog,
  ring,
  rotation,
  queues,
  memory,
  features,
  settle,
];

export const microbenchmarkNames = microbenchmarks.map(({ name }) => name);

export function microbenchmarkNamed(name: string): Microbenchmark {
  const found = microbenchmarks.find((microbenchmark) => microbenchmark.name === name);
  if (found === undefined) throw new Error(`there is no microbenchmark ${name}`);
  return found;
}
