import { backlog } from "./backlog.ts";
import { features } from "./features.ts";
import type { Figure } from "./figure.ts";
import { finish } from "./finish.ts";
import { idle } from "./idle.ts";
import { latency } from "./latency.ts";
import { memory } from "./memory.ts";
import { queues } from "./queues.ts";
import { ring } from "./ring.ts";
import { rotation } from "./rotation.ts";
import { send } from "./send.ts";
import { settle } from "./settle.ts";
import { wal } from "./wal.ts";

/** In the order of the report. */
export const figures: Figure[] = [
  send,
  finish,
  wal,
  idle,
  latency,
  backlog,
  ring,
  rotation,
  queues,
  memory,
  features,
  settle,
];

export const figureNames = figures.map(({ name }) => name);

export function figureNamed(name: string): Figure {
  const found = figures.find((figure) => figure.name === name);
  if (found === undefined) throw new Error(`there is no figure ${name}`);
  return found;
}
