import { consumerName, createQueue, queue } from "../../systems/pgque.ts";
import type { Picker, Site, Work } from "./picker.ts";

/** Priorities that there are. */
const lanes = 10;

/** One message a receive, as the others pick, or many. */
function pgquePicker(batch: number): Pick<Picker, "prepare" | "worker"> {
  return {
    async prepare({ admin }, jobs) {
      await createQueue(admin, { priorities: lanes });
      await admin.query(`select pgque.subscribe($1, $2, '{"mode": "shared"}')`, [queue, consumerName]);
      const payloads = Map.groupBy(jobs, ({ priority }) => priority);
      for (const [priority, those] of payloads)
        await admin.query("select pgque.send_batch($1, 'job', $2::text[], null, $3)", [
          queue,
          those.map(({ payload }) => payload),
          { priority },
        ]);
      await admin.query("vacuum analyze");
    },
    worker: (site, work) => worker(site, batch, work),
  };
}

async function worker({ connect }: Site, batch: number, work: Work): Promise<() => Promise<boolean>> {
  const receiving = await connect("worker receive", { synchronousCommit: "off" });
  const acking = await connect("worker ack");
  return async () => {
    const { rows } = await receiving.query<[string, string]>({
      name: "receive",
      text: "select batch_id::text, payload from pgque.receive_messages($1, $2, null, $3)",
      values: [queue, consumerName, batch],
      rowMode: "array",
    });
    const [first] = rows;
    if (first === undefined) return false;
    for (const [, payload] of rows) work(payload);
    await acking.query({ name: "ack", text: "select pgque.ack($1::bigint)", values: [first[0]] });
    return true;
  };
}

const settings = [
  `a queue with ${lanes} priorities`,
  "receives with synchronous_commit off, on a connection of their own, as @pgque/worker does: a lost receive is only redelivered; acks with the run's",
];

export const pgqueOne: Picker = {
  name: "pgque",
  summary: "Pgque's SQL, a message at a time: receive_messages, ack",
  settings,
  ...pgquePicker(1),
};

export const pgqueBatch: Picker = {
  name: "pgque-batch",
  summary: "the same with up to 100 messages a receive, which is how it is meant to be used",
  settings,
  ...pgquePicker(100),
};
