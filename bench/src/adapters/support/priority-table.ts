import type pg from "pg";
import { steadyPlans, steadyPlansSetting, tunedSetting, tunedTable } from "./table.ts";
import type { Picker, PickSite, Work } from "../adapter.ts";

const schema = `
  ${tunedTable(
    "job",
    `id bigint generated always as identity primary key,
    priority int not null,
    added_on timestamptz not null default clock_timestamp(),
    payload text not null`,
  )}
  create index on job (priority desc, added_on);`;

const insert =
  "insert into job (priority, payload) select * from unnest($1::int[], $2::text[]) as job(priority, payload)";

export const tableSettings = [
  "index on (priority desc, added_on): jobs are picked by priority and time, as by depesz",
  "pick, work and DELETE in one transaction: a worker that dies has done nothing",
  tunedSetting,
  steadyPlansSetting,
];

/** A table of jobs, of which a statement picks one for as long as the transaction lasts. */
export function tableJobs(pick: string): Pick<Picker, "prepare" | "worker"> {
  return {
    async prepare({ admin }, jobs) {
      await admin.query(schema);
      await admin.query(insert, [jobs.map(({ priority }) => priority), jobs.map(({ payload }) => payload)]);
      await admin.query("vacuum analyze job");
    },
    worker: (site, work) => worker(site, pick, work),
  };
}

async function worker({ connect }: PickSite, pick: string, work: Work): Promise<() => Promise<boolean>> {
  const client = await connect("worker");
  await steadyPlans(client);
  return async () => {
    await client.query("begin");
    const job = await picked(client, pick);
    if (job !== undefined) {
      work(job[1]);
      await client.query({ name: "delete", text: "delete from job where id = $1::bigint", values: [job[0]] });
    }
    await client.query("commit");
    return job !== undefined;
  };
}

async function picked(client: pg.Client, pick: string): Promise<[string, string] | undefined> {
  const { rows } = await client.query<[string, string]>({ name: "pick", text: pick, rowMode: "array" });
  return rows[0];
}
