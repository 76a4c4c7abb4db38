import { Client, type ClientBase, type Pool } from "pg";
import type { Queryable } from "./queryable.ts";
import { field } from "../options/field.ts";

/** Where a queryable's database is. Never holds a user's password. */
export interface Address {
  host?: string;
  port?: number;
  database?: string;
}

/** The address of a pool or client, as far as it says. */
export function addressOf(queryable: Queryable): Address {
  try {
    // a client knows what became of connection string, options and PG* variables; making one connects to nothing
    return pick(isPool(queryable) ? new Client(queryable.options) : queryable);
  } catch {
    return {};
  }
}

/** A pool of `pg`, of this or another copy of the package. */
export function isPool(target: unknown): target is Pool {
  return typeof field(target, "connect") === "function" && typeof field(target, "totalCount") === "number";
}

/** A client of `pg`, of this or another copy of the package. */
export function isClient(target: unknown): target is ClientBase {
  return typeof field(target, "query") === "function" && typeof field(target, "connection") === "object";
}

/** `127.0.0.1:5432, database "app"`, or what of it is known. */
export function showAddress(address: Address): string {
  if (address.host === undefined) return "an unknown address";
  const place = `${address.host}${address.port === undefined ? "" : `:${address.port}`}`;
  return address.database === undefined ? place : `${place}, database ${JSON.stringify(address.database)}`;
}

function pick(client: object): Address {
  const [host, port, database] = ["host", "port", "database"].map((name) => field(client, name));
  return {
    ...(typeof host === "string" && { host: shown(host) }),
    ...(typeof port === "number" && { port }),
    ...(typeof database === "string" && { database: shown(database) }),
  };
}

/** A name as messages have it. Of a connection string that `pg` misunderstood, a host or a database has the password in it. */
function shown(name: string): string {
  return /[@=]/.test(name) ? "****" : name;
}
