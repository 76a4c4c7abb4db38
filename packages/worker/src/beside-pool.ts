import type { Pgque } from "@pgque/client";
import type { Client } from "pg";
import { within } from "./answer.ts";

/** Connects as the pool would: what the application has done to each of its connections, `set role` say, is done to this one too. */
export async function connectBeside({ pool }: Pgque, client: Client, limitMs: number): Promise<void> {
  await within(limitMs, client.connect());
  const { onConnect } = pool.options as { onConnect?: (client: Client) => unknown };
  // a foreign pool may tell of nothing
  for (const handler of typeof pool.listeners === "function" ? pool.listeners("connect") : [])
    Reflect.apply(handler, pool, [client]);
  await within(limitMs, Promise.resolve(onConnect?.(client)));
}
