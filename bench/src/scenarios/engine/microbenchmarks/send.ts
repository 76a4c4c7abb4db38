import { rawInsert, rawTable } from "../../../adapters/controls.ts";
import { queue } from "../../../adapters/support/pgque-queue.ts";
import { saturate, timesOf, type Caller } from "../../../load/saturate.ts";
import { startCpuUse, serverCpu, type CpuClock } from "../../../measure/processes.ts";
import { quotient } from "../../../measure/statistics.ts";
import { micros, ratio, whole } from "../../../report/format.ts";
import { atLeast } from "../../../runner/target.ts";
import { defineMicrobenchmark, Rate } from "../microbenchmark.ts";
import { payload, payloadBytes, withQueue, type QueueDatabase } from "../queue.ts";

const statements = {
  pgque: { name: "send", text: "select pgque.send($1, $2, $3)", values: [queue, "default"] },
  raw: { ...rawInsert, values: ["default"] },
};

type Side = keyof typeof statements;
const sides: Side[] = ["pgque", "raw"];

export const send = defineMicrobenchmark({
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
  async measure(context, { connections, rounds, seconds }) {
    return withQueue(context, {}, async (database) => {
      await database.admin.query(rawTable);
      const cpu = await serverCpu(database.admin);
      const senders = {
        pgque: await open(database, "pgque", connections),
        raw: await open(database, "raw", connections),
      };
      const compare = async (count: number): Promise<Record<Side, Rate>> => {
        const rates = { pgque: new Rate(), raw: new Rate() };
        for (let n = 0; n <= rounds; n++) {
          for (const side of sides) {
            context.note(`${side}, ${count} connections`);
            // the first of each only warms up
            const rate = n === 0 ? new Rate() : rates[side];
            await round(senders[side].slice(0, count), { cpu, seconds, signal: context.signal }, rate);
          }
        }
        return rates;
      };
      return { many: await compare(connections), one: await compare(1) };
    });
  },
  values: {
    pgque: ["pgque, sends/s", whole, ({ many }) => many.pgque.perSecond],
    raw: ["raw INSERT, sends/s", whole, ({ many }) => many.raw.perSecond],
    ratio: ["pgque / raw", ratio, ({ many }) => rateRatio(many), atLeast(0.75, ratio)],
    pgqueCpuMicros: ["pgque, server CPU per send", micros, ({ many }) => many.pgque.cpuMicros],
    rawCpuMicros: ["raw INSERT, server CPU per send", micros, ({ many }) => many.raw.cpuMicros],
    cpuRatio: ["server CPU, pgque / raw", ratio, ({ many }) => quotient(many.pgque.cpuMicros, many.raw.cpuMicros)],
    pgqueOne: ["pgque, one connection, sends/s", whole, ({ one }) => one.pgque.perSecond],
    rawOne: ["raw INSERT, one connection, sends/s", whole, ({ one }) => one.raw.perSecond],
    ratioOne: ["one connection, pgque / raw", ratio, ({ one }) => rateRatio(one)],
  },
});

const rateRatio = ({ pgque, raw }: Record<Side, Rate>): number | null => quotient(pgque.perSecond, raw.perSecond);

function open({ connect }: QueueDatabase, side: Side, connections: number): Promise<Caller[]> {
  const { values, ...statement } = statements[side];
  const one = async (_: unknown, index: number): Promise<Caller> => {
    const client = await connect(`send ${side}`, { synchronousCommit: "off" });
    return { name: `send ${index}`, call: () => client.query({ ...statement, values: [...values, payload()] }) };
  };
  return Promise.all(Array.from({ length: connections }, one));
}

async function round(
  senders: Caller[],
  { cpu, seconds, signal }: { cpu: CpuClock | null; seconds: number; signal: AbortSignal },
  rate: Rate,
): Promise<void> {
  const use = await startCpuUse(cpu);
  const startMs = performance.now();
  const tasks = await saturate(senders, seconds, signal);
  const elapsed = (performance.now() - startMs) / 1000;
  const { serverCpuSeconds } = await use.used();
  rate.add({ messages: timesOf(tasks, "send")?.calls ?? 0, seconds: elapsed, serverCpuSeconds });
}
