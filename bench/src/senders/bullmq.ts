import { atLeast } from "../scenario/target.ts";
import { processCpu } from "../measure/server-cpu.ts";
import { ratio } from "../report/format.ts";
import { peer } from "./peer.ts";
import { startRedis } from "./redis-server.ts";
import type { Sender } from "./sender.ts";

const packages = ["bullmq@6", "ioredis@5"];

const common = [
  "one Redis for each cell, on loopback as PostgreSQL is; maxmemory-policy noeviction, which BullMQ requires and Redis has by default",
  "default job options; addBulk is one pipeline of scripts, and not atomic: others see part of it",
];

export const bullmq: Sender = sender("bullmq", "`addBulk` of BullMQ 6 on Redis with its built-in configuration", {}, [
  "persistence as Redis has it by default: appendonly no, snapshots an hour, five minutes or a minute apart; a crash loses what came since. No snapshot falls into a cell",
  ...common,
]);

export const bullmqAof: Sender = sender(
  "bullmq-aof",
  "the same with the append-only file that BullMQ's documentation advises for production",
  { appendonly: "yes", appendfsync: "everysec" },
  ["appendonly yes, appendfsync everysec: a crash loses a second; a commit of PostgreSQL is on the disk", ...common],
);

function sender(name: string, summary: string, configuration: Record<string, string>, settings: string[]): Sender {
  return {
    name,
    group: "many",
    summary,
    settings,
    target: atLeast(5, ratio),
    async open() {
      const { Queue } = await peer(packages, () => import("bullmq"));
      await peer(packages, () => import("ioredis"));
      const redis = await startRedis(configuration);
      const queue = new Queue("bench", { connection: { host: redis.host, port: redis.port } });
      // a connection that breaks makes the next call fail; without a listener it would end the process here
      queue.on("error", () => undefined);
      await queue.waitUntilReady();
      return {
        send: (payloads) => queue.addBulk(payloads.map((data) => ({ name: "default", data }))),
        stored: () => queue.count(),
        server: processCpu(redis.pid),
        async close() {
          await queue.close();
          await redis.stop();
        },
      };
    },
  };
}
