import type { Picker } from "./picker.ts";

/** No queue: rows that nobody contends for, marked as done one by one. */
function bareUpdate(name: string, synchronousCommit: "on" | "off"): Picker {
  let next = 0;
  return {
    name,
    summary: `no queue: one UPDATE by primary key for each job, which is told beforehand, with synchronous_commit ${synchronousCommit}; for scale, as depesz has it`,
    settings: ["24 connections, as there; nobody looks for a job, nobody waits for another's"],
    connections: 24,
    ordered: false,
    async prepare({ admin }, jobs) {
      next = 0;
      await admin.query(
        "create table job (id bigint primary key, payload text not null, done boolean not null default false)",
      );
      await admin.query(
        "insert into job (id, payload) select n, payload from unnest($1::text[]) with ordinality as job(payload, n)",
        [jobs.map(({ payload }) => payload)],
      );
      await admin.query("vacuum analyze job");
    },
    async worker({ connect }, work) {
      const client = await connect("worker", { synchronousCommit });
      return async () => {
        next += 1;
        const { rows } = await client.query<{ payload: string }>({
          name: "update",
          text: "update job set done = true where id = $1 returning payload",
          values: [next],
        });
        const [job] = rows;
        if (job === undefined) return false;
        work(job.payload);
        return true;
      };
    },
  };
}

export const bareUpdates = [bareUpdate("update-async", "off"), bareUpdate("update-sync", "on")];
