import { repeatableRead } from "../../horizons/repeatable-read.ts";
import { defineFigure } from "./figure.ts";
import { drainInTurn, openContender, workAtFullSpeed, type Contender, type FinishSizes } from "./finish-rounds.ts";
import { measured, systems, values } from "./finish-values.ts";

export const finish = defineFigure<string, keyof FinishSizes>({
  name: "finish",
  statement:
    "messages received and finished a second in batches of 100 by 4 consumers: pgque against skip-locked and skip-locked-delete, clean and under a held horizon",
  method: [
    "in the server: consumers are loops in PL/pgSQL that receive, commit, finish and commit, so that nothing but the server limits them; targets are compared with these. " +
      "node-postgres: consumers of the scenario xmin; they share the cores with the server, and one thread of JavaScript limits the faster systems",
    "from a backlog that is filled up before each round; nobody sends meanwhile; a round ends early rather than run dry, and otherwise with the batches under way when its time is over",
    "rounds of the systems in turn, each in a database of its own: first clean; then a REPEATABLE READ transaction holds the horizon in each while it sends and " +
      "finishes at full speed (node-postgres) for the time given; then rounds with the horizon still held, and proven to be",
    "batch, payload of 75 bytes, synchronous_commit, sessions at work and autovacuum are the same for all; pgque and skip-locked take two transactions a batch, the first without waiting for the disk; " +
      "skip-locked-delete takes one and loses a batch when its consumer crashes; maintain() runs once a second for pgque",
  ],
  sizes: {
    full: { backlog: 500_000, rounds: 3, seconds: 4, heldSeconds: 60 },
    quick: { backlog: 200_000, rounds: 2, seconds: 1, heldSeconds: 10 },
  },
  values,
  async measure(context, sizes) {
    const contenders: Contender[] = [];
    try {
      for (const system of systems) contenders.push(await openContender(context, system));
      const clean = await drainInTurn(context, contenders, sizes, "clean");
      const holders = await Promise.all(contenders.map(({ bench }) => repeatableRead.hold(bench.site)));
      await workAtFullSpeed(context, contenders, sizes);
      const held = await drainInTurn(context, contenders, sizes, "held");
      for (const holder of holders) {
        await holder.prove();
        await holder.release();
      }
      return measured({ clean, held });
    } finally {
      for (const { bench } of contenders) await bench.close();
    }
  },
});
