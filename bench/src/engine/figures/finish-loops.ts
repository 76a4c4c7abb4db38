import type pg from "pg";
import type { Workbench } from "../../xmin/workbench.ts";
import { pgque } from "../../adapters/pgque.ts";
import { consumerName, queue } from "../../adapters/support/pgque-queue.ts";
import { claim, finish, skipLocked, skipLockedDelete, take } from "../../adapters/skip-locked.ts";
import { steadyPlans } from "../../adapters/support/table.ts";

/** Consumers that run inside the server: what they finish is limited by nothing but it. */
export interface Loops {
  /** Until so many seconds are over or no more than so many messages are left. */
  drain(seconds: number, left: number): Promise<void>;
}

const withoutWaiting = "perform set_config('synchronous_commit', 'off', true);";

/** How each system receives and finishes one batch, with the transactions and the durability that its consumer has. */
const steps: Record<string, string> = {
  [pgque.name]: `
    ${withoutWaiting}
    select count(*), min(batch_id) into got, batch
      from pgque.receive_messages('${queue}', '${consumerName}', null, batch_size);
    commit;
    exit when got = 0;
    perform pgque.ack(batch);`,
  [skipLocked.name]: `
    ${withoutWaiting}
    with claimed as (${claim.replace("$1", "batch_size")})
    select count(*), array_agg(id) into got, ids from claimed;
    commit;
    exit when got = 0;
    ${finish.replace("$1", "ids")};`,
  [skipLockedDelete.name]: `
    with taken as (${take.replace("$1", "batch_size")})
    select count(*) into got from taken;
    exit when got = 0;`,
};

const loop = (step: string): string => `
  create procedure public.bench_loop(batch_size int, most bigint, seconds float8, inout finished bigint)
  language plpgsql
  as $$
  declare
    until constant timestamptz := clock_timestamp() + make_interval(secs => seconds);
    got bigint;
    batch bigint;
    ids bigint[];
  begin
    finished := 0;
    while finished < most and clock_timestamp() < until loop
      ${step}
      finished := finished + got;
      commit;
    end loop;
  end
  $$`;

export async function openLoops(bench: Workbench, system: string, consumers: number, batch: number): Promise<Loops> {
  const { tally } = bench.load;
  await bench.admin.query(loop(steps[system] ?? ""));
  const clients = await Promise.all(Array.from({ length: consumers }, () => bench.connect("loop")));
  if (system !== pgque.name) await Promise.all(clients.map(steadyPlans));
  const drainOne = async (client: pg.Client, seconds: number, most: number): Promise<void> => {
    const { rows } = await client.query<{ finished: string }>({
      name: "loop",
      text: "call public.bench_loop($1, $2, $3, null)",
      values: [batch, most, seconds],
    });
    tally.finished(Number(rows[0]?.finished));
  };
  return {
    async drain(seconds, left) {
      const most = Math.floor((tally.depth - left) / consumers);
      await Promise.all(clients.map((client) => drainOne(client, seconds, most)));
    },
  };
}
