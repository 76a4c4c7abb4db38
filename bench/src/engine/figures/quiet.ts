import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";
import type { FigureContext } from "./figure.ts";

/**
 * Works while the server does nothing on its own account: no autovacuum, and these settings. Only on a server of our own; one that
 * was given is left as it is.
 */
export async function quietly<T>(
  { server }: FigureContext,
  admin: pg.Client,
  settings: Record<string, string>,
  work: () => Promise<T>,
): Promise<T> {
  if (!server.embedded) return work();
  const quiet = { autovacuum: "off", ...settings };
  try {
    for (const [name, value] of Object.entries(quiet)) await admin.query(`alter system set ${name} = '${value}'`);
    await apply(admin, quiet);
    return await work();
  } finally {
    for (const name of Object.keys(quiet)) await admin.query(`alter system reset ${name}`);
    await apply(admin, {});
  }
}

/** The checkpoint is not for its own sake: the process that takes it has read the settings before it, and is the one that applies them. */
async function apply(admin: pg.Client, expected: Record<string, string>): Promise<void> {
  await admin.query("select pg_reload_conf()");
  for (let tries = 0; !(await isSet(admin, expected)); tries++) {
    if (tries === 100) throw new Error(`the server did not take its settings: ${JSON.stringify(expected)}`);
    await sleep(20);
  }
  await admin.query("checkpoint");
}

async function isSet(admin: pg.Client, expected: Record<string, string>): Promise<boolean> {
  const { rows } = await admin.query<{ set: boolean }>(
    "select coalesce(bool_and(current_setting(key) = value), true) as set from jsonb_each_text($1)",
    [expected],
  );
  return rows[0]?.set ?? false;
}
