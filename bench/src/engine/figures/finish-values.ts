import { micros, ratio, whole } from "../../report/format.ts";
import { pgque } from "../../adapters/pgque.ts";
import { skipLockedDelete } from "../../adapters/skip-locked.ts";
import { skipLocked } from "../../adapters/skip-locked.ts";
import { atLeast } from "../../scenario/target.ts";
import { quotient } from "../../measure/quotient.ts";
import type { Value } from "./figure.ts";
import type { Rate } from "./rate.ts";

export const systems = [pgque, skipLocked, skipLockedDelete];

/** Where the consumers are. */
const sides = { server: "in the server", client: "node-postgres" };
const phases = { clean: "clean", held: "horizon held" };

export type Phase = keyof typeof phases;

/** What each system finishes, by name. */
export type Finished = Record<string, Record<keyof typeof sides, Rate>>;

/** How many times as fast as each of the others Pgque is to be, where nothing but the server limits it. */
const targets: Record<Phase, Record<string, number>> = {
  clean: { [skipLocked.name]: 4, [skipLockedDelete.name]: 2 },
  held: { [skipLocked.name]: 50, [skipLockedDelete.name]: 50 },
};

/** One value: how it is shown, and where it is found. */
interface Point {
  key: string;
  value: Value;
  read: (finished: Record<Phase, Finished>) => number | null;
}

const points = keysOf(phases).flatMap((phase) =>
  keysOf(sides).flatMap((side) => systems.flatMap(({ name }) => pointsOf(phase, side, name))),
);

export const values = Object.fromEntries(points.map(({ key, value }) => [key, value]));

export const measured = (finished: Record<Phase, Finished>): Record<string, number | null> =>
  Object.fromEntries(points.map(({ key, read }) => [key, read(finished)]));

function pointsOf(phase: Phase, side: keyof typeof sides, system: string): Point[] {
  const point = (what: string, value: Value, read: Point["read"]): Point => ({
    key: `${phase}.${side}.${system}.${what}`,
    value: { ...value, label: `${phases[phase]}, ${sides[side]}: ${value.label}` },
    read,
  });
  const rateOf = (finished: Record<Phase, Finished>, of: string): Rate | undefined => finished[phase][of]?.[side];
  const own = [
    point(
      "perSecond",
      { label: `${system}, messages/s`, format: whole },
      (all) => rateOf(all, system)?.perSecond ?? null,
    ),
    point(
      "cpuMicros",
      { label: `${system}, server CPU/message`, format: micros },
      (all) => rateOf(all, system)?.cpuMicros ?? null,
    ),
  ];
  const bound = targets[phase][system];
  if (bound === undefined) return own;
  const target = side === "server" ? { target: atLeast(bound, ratio) } : {};
  const compared = point("ratio", { label: `${pgque.name} / ${system}`, format: ratio, ...target }, (all) =>
    quotient(rateOf(all, pgque.name)?.perSecond ?? null, rateOf(all, system)?.perSecond ?? null),
  );
  return [...own, compared];
}

function keysOf<Key extends string>(record: Record<Key, unknown>): Key[] {
  return Object.keys(record) as Key[];
}
