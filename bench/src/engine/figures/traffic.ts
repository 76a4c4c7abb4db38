import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";
import { Latencies } from "../../measure/histogram.ts";
import { paced } from "../../measure/pace.ts";
import type { Calls } from "./calls.ts";
import { ack, receive, send, type QueueDatabase } from "./queue.ts";

/** Senders at a fixed rate and receivers that take what there is. */
export interface Traffic {
  senders: pg.Client[];
  receivers: { receiving: pg.Client; acking: pg.Client }[];
  /** Of all senders together. */
  sendsPerSecond: number;
}

export interface TrafficCalls {
  send: Calls;
  receive: Calls;
}

const idleMs = 5;

/** Nobody waits for the disk: its pauses are not the queue's. */
export async function openTraffic(
  { connect }: QueueDatabase,
  sizes: { senders: number; receivers: number; sendsPerSecond: number },
): Promise<Traffic> {
  const open = (role: string): Promise<pg.Client> => connect(role, { synchronousCommit: "off" });
  const receiver = async (): Promise<Traffic["receivers"][number]> => ({
    receiving: await open("receive"),
    acking: await open("ack"),
  });
  return {
    senders: await Promise.all(Array.from({ length: sizes.senders }, () => open("send"))),
    receivers: await Promise.all(Array.from({ length: sizes.receivers }, receiver)),
    sendsPerSecond: sizes.sendsPerSecond,
  };
}

export async function runTraffic(
  traffic: Traffic,
  seconds: number,
  calls: TrafficCalls,
  signal: AbortSignal,
): Promise<void> {
  const endMs = performance.now() + seconds * 1000;
  const sent = traffic.senders.map((client, index) => sendPaced(traffic, client, index, endMs, calls.send, signal));
  const received = traffic.receivers.map(async ({ receiving, acking }) => {
    while (performance.now() < endMs) {
      const batch = await calls.receive.time(() => receive(receiving, 100));
      await ack(acking, batch);
      if (batch.messages === 0) await sleep(idleMs, undefined, { signal });
    }
  });
  await Promise.all([...sent, ...received]);
}

function sendPaced(
  { senders, sendsPerSecond }: Traffic,
  client: pg.Client,
  index: number,
  endMs: number,
  calls: Calls,
  signal: AbortSignal,
): Promise<void> {
  const turnMs = 1000 / sendsPerSecond;
  const schedule = { startMs: performance.now() + index * turnMs, everyMs: turnMs * senders.length, endMs };
  return paced(schedule, () => calls.time(() => send(client)), new Latencies(), signal);
}
