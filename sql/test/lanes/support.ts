import type pg from "pg";

/** Creates queue `q` with lanes, which rotates whenever it is asked to. */
export async function makeLanes(client: pg.Client, options: Record<string, unknown>): Promise<void> {
  await client.query("select pgque.create_queue('q', $1)", [
    { rotation_bytes: 8192, rotation_min_interval: "0 s", rotation_period: "1 day", ...options },
  ]);
}

export async function subscribe(client: pg.Client, options: Record<string, unknown>, consumer = "c"): Promise<void> {
  await client.query("select pgque.subscribe('q', $1, $2)", [consumer, { from: "earliest", ...options }]);
}

/** Sends one message; its payload says what it is. */
export async function sendWith(
  client: pg.Client,
  options: Record<string, unknown>,
  ...payloads: string[]
): Promise<void> {
  for (const payload of payloads) await client.query("select pgque.send('q', 't', $1::text, $2)", [payload, options]);
}

/** Two keys that do not share a lane, the second of which comes after the first in the order of lanes. */
export async function keysOfTwoLanes(client: pg.Client): Promise<[string, string]> {
  const { rows } = await client.query(
    `select array_agg(k order by lane) as keys
       from (select distinct on (lane) 'key ' || n as k, lane
               from generate_series(1, 100) as n, pgque.lane_of_key('key ' || n, 16) as lane
              where lane in (3, 7) order by lane, n) one`,
  );
  return rows[0].keys;
}
