import type { Receive, RunningSystem, Send, Workload } from "../adapter.ts";

/** A system with a connection or two for every producer and consumer, all of which wait for the harness to call. */
export async function pulled(
  workload: Workload,
  producer: (workload: Workload) => Promise<Send>,
  consumer: (workload: Workload) => Promise<Receive>,
): Promise<RunningSystem & { consumers: { kind: "pulled" } }> {
  const { producers, consumers } = workload;
  const send = await Promise.all(Array.from({ length: producers }, () => producer(workload)));
  const receive = await Promise.all(Array.from({ length: consumers }, () => consumer(workload)));
  return { send, consumers: { kind: "pulled", receive } };
}

/** A producer that sends by one statement, which is given all payloads as one array. */
export function insertingBy(text: string): (workload: Workload) => Promise<Send> {
  return async (workload) => {
    const client = await workload.connect("producer");
    return async (payloads) => {
      await client.query({ name: "insert", text, values: [payloads] });
    };
  };
}
