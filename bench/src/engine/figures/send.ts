import { CpuUse } from "../../measure/cpu-use.ts";
import { Latencies } from "../../measure/histogram.ts";
import { ServerCpu } from "../../measure/server-cpu.ts";
import { closedLoop } from "../../load/closed-loop.ts";
import { Tally } from "../../load/tally.ts";
import { micros, ratio, whole } from "../../report/format.ts";
import { rawInsert, rawTable } from "../../adapters/controls.ts";
import { queue } from "../../adapters/support/pgque-queue.ts";
import type { Send } from "../../adapters/adapter.ts";
import { atLeast } from "../../scenario/target.ts";
import { defineFigure, type FigureContext } from "./figure.ts";
import { quotient } from "../../measure/quotient.ts";
import { payloadBytes, withQueue, type QueueDatabase } from "./queue.ts";
import { Rate } from "./rate.ts";

const statements = {
  pgque: { name: "send", text: "select pgque.send($1, $2, $3)", values: [queue, "default"] },
  raw: { ...rawInsert, values: ["default"] },
};

type Side = keyof typeof statements;
const sides: Side[] = ["pgque", "raw"];

export const send = defineFigure({
  name: "send",
  statement:
    "sends of one message a transaction, select pgque.send(queue, type, payload), against a prepared INSERT of the same row into a plain table",
  method: [
    `payload of ${payloadBytes} bytes; synchronous_commit off, node-postgres, prepared, a closed loop on every connection`,
    "the plain table has the columns, defaults and the one index (lane, txid, seq) of a message table, and a sequence; autovacuum off for both",
    "rounds in turn, after one of each that does not count; nobody receives and nothing is maintained meanwhile",
    "the harness shares the cores with the server, so the ratio of rates is that of server and client together; server CPU is of all the server's processes",
  ],
  sizes: {
    full: { connections: 8, rounds: 3, seconds: 4 },
    quick: { connections: 8, rounds: 2, seconds: 2 },
  },
  values: {
    pgque: { label: "pgque, sends/s", format: whole },
    raw: { label: "raw INSERT, sends/s", format: whole },
    ratio: { label: "pgque / raw", format: ratio, target: atLeast(0.75, ratio) },
    pgqueCpuMicros: { label: "pgque, server CPU per send", format: micros },
    rawCpuMicros: { label: "raw INSERT, server CPU per send", format: micros },
    cpuRatio: { label: "server CPU, pgque / raw", format: ratio },
    pgqueOne: { label: "pgque, one connection, sends/s", format: whole },
    rawOne: { label: "raw INSERT, one connection, sends/s", format: whole },
    ratioOne: { label: "one connection, pgque / raw", format: ratio },
  },
  async measure(context, { connections, rounds, seconds }) {
    return withQueue(context, {}, async (database) => {
      await database.admin.query(rawTable);
      const cpu = await ServerCpu.of(database.admin);
      const senders = {
        pgque: await open(database, "pgque", connections),
        raw: await open(database, "raw", connections),
      };
      const compare = (of: number): Promise<Record<Side, Rate>> =>
        inTurn(rounds, async (side, sum) => {
          context.note(`${side}, ${of} connections`);
          await round(context, cpu, senders[side].slice(0, of), seconds, sum);
        });
      const many = await compare(connections);
      const one = await compare(1);
      return {
        pgque: many.pgque.perSecond,
        raw: many.raw.perSecond,
        ratio: quotient(many.pgque.perSecond, many.raw.perSecond),
        pgqueCpuMicros: many.pgque.cpuMicros,
        rawCpuMicros: many.raw.cpuMicros,
        cpuRatio: quotient(many.pgque.cpuMicros, many.raw.cpuMicros),
        pgqueOne: one.pgque.perSecond,
        rawOne: one.raw.perSecond,
        ratioOne: quotient(one.pgque.perSecond, one.raw.perSecond),
      };
    });
  },
});

async function open(database: QueueDatabase, side: Side, connections: number): Promise<Send[]> {
  const { values, ...statement } = statements[side];
  const one = async (): Promise<Send> => {
    const client = await database.connect(`send ${side}`, { synchronousCommit: "off" });
    return async ([payload]) => {
      await client.query({ ...statement, values: [...values, payload] });
    };
  };
  return Promise.all(Array.from({ length: connections }, one));
}

/** A B, A B, …; the first of each only warms up. */
async function inTurn(rounds: number, round: (side: Side, sum: Rate) => Promise<void>): Promise<Record<Side, Rate>> {
  const sums = { pgque: new Rate(), raw: new Rate() };
  for (const side of sides) await round(side, new Rate());
  for (let n = 0; n < rounds; n++) for (const side of sides) await round(side, sums[side]);
  return sums;
}

async function round(
  { signal }: FigureContext,
  server: ServerCpu | null,
  send: Send[],
  seconds: number,
  sum: Rate,
): Promise<void> {
  const tally = new Tally();
  const cpu = await CpuUse.start(server);
  const startMs = performance.now();
  await closedLoop(
    {
      send,
      consumers: { kind: "pulled", receive: [] },
      tally,
      payloadBytes,
      sendBatch: 1,
      idlePollMs: 0,
      lateness: new Latencies(),
    },
    seconds,
    signal,
  );
  const elapsed = (performance.now() - startMs) / 1000;
  const { serverCpuSeconds } = await cpu.used();
  sum.add({ messages: tally.enqueued, seconds: elapsed, cpuSeconds: serverCpuSeconds });
}
