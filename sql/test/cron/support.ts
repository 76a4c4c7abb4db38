import type pg from "pg";

/** Creates or changes the schedule `s` of queue `q`. */
export async function schedule(client: pg.Client, options: Record<string, unknown> = {}, name = "s"): Promise<number> {
  const { rows } = await client.query("select pgque.schedule($1, 'q', '* * * * *', 'wake up', $2) as changed", [
    name,
    options,
  ]);
  return rows[0].changed;
}

/** A time for which schedules can be run: so long ago, to the second, by the server's clock. */
export async function timeAgo(client: pg.Client, ago: string): Promise<string> {
  const { rows } = await client.query("select date_trunc('second', clock_timestamp() - $1::interval)::text as at", [
    ago,
  ]);
  return rows[0].at;
}

/** The id of the message that was sent; null: somebody else has sent it. */
export async function run(client: pg.Client, at: string, name = "s"): Promise<string | null> {
  const { rows } = await client.query("select pgque.run_schedule($1, $2) as id", [name, at]);
  return rows[0].id;
}

/** Truncates what it may as if so much time had gone by. */
export async function rotate(client: pg.Client, later = "0"): Promise<number> {
  const { rows } = await client.query("select pgque.rotate_scheduled_runs(clock_timestamp() + $1::interval) as done", [
    later,
  ]);
  return rows[0].done;
}

/** The same every six hours of days in which nothing is run, until all that is to be forgotten is. */
export async function rotateForDays(client: pg.Client): Promise<void> {
  for (let hours = 6; hours <= 6 * 24; hours += 6) await rotate(client, `${hours} hours`);
}

/** How many runs are stored, and in how many bytes. */
export async function stored(client: pg.Client): Promise<{ runs: number; bytes: number }> {
  const { rows } = await client.query(
    `select (select count(*)::int from pgque.scheduled_run) as runs, sum(pg_relation_size(relid))::int as bytes
       from pg_partition_tree('pgque.scheduled_run') where isleaf`,
  );
  return rows[0];
}
