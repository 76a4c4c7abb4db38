import { once } from "node:events";
import type { AddressInfo } from "node:net";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createAdaptorServer, getRequestListener } from "@hono/node-server";
import { type Pgque, PgqueError } from "@pgque/client";
import { type Authorize, createDashboard, type Dashboard, type DashboardOptions } from "../dashboard.ts";
import { basicAuth } from "./password.ts";

export interface ServeOptions extends Pick<DashboardOptions, "basePath" | "refreshMs" | "operator"> {
  /** The address to listen on. Default: 127.0.0.1. Beyond the loopback it needs `passwordHash`. */
  host?: string;
  /** The port; 0: one that is free. Default: 7420. */
  port?: number;
  /** What `hashPassword` made. */
  passwordHash?: string;
}

/** A dashboard that is served. */
export interface Served {
  url: string;
  /** Ends it, open connections included. */
  close: () => Promise<void>;
}

const loopback = new Set(["127.0.0.1", "::1", "localhost"]);

/**
 * Serves the dashboard by a server of its own.
 *
 * @throws PgqueError INVALID_OPTION when others could reach it, and it has no password
 * @example
 * const { url, close } = await serveDashboard(pgque, { port: 7420 });
 */
export async function serveDashboard(pgque: Pgque, options: ServeOptions = {}): Promise<Served> {
  const { host = "127.0.0.1", port = 7420, passwordHash, ...rest } = options;
  if (passwordHash === undefined && !loopback.has(host)) {
    throw new PgqueError("INVALID_OPTION", `expected a password for a dashboard that listens on ${host}, found none`, {
      hint: "Set PGQUE_DASHBOARD_PASSWORD_HASH to what `pgque dashboard --hash-password` prints, or listen on 127.0.0.1",
    });
  }
  const authorize = passwordHash === undefined ? ofThisMachine : basicAuth(passwordHash);
  const server = createAdaptorServer({ fetch: createDashboard(pgque, { ...rest, authorize }) });
  server.listen(port, host);
  await once(server, "listening");
  const { port: opened } = server.address() as AddressInfo;
  return {
    url: `http://${host.includes(":") ? `[${host}]` : host}:${opened}${rest.basePath ?? ""}/`,
    async close() {
      const closed = once(server, "close");
      server.close();
      if ("closeAllConnections" in server) server.closeAllConnections();
      await closed;
    },
  };
}

/**
 * A dashboard as a listener of node:http, and of what takes one, such as Express. It reads the body of a form itself: nothing may have read it.
 *
 * @example
 * createServer(nodeListener(dashboard)).listen(3000, "127.0.0.1");
 */
export function nodeListener(dashboard: Dashboard): (request: IncomingMessage, response: ServerResponse) => void {
  // the globals of an application stay as they are
  const listener = getRequestListener(dashboard, { overrideGlobalObjects: false });
  return (request, response) => void listener(request, response);
}

/** A page of another site may have its name point to this machine; the browser then asks by that name. */
const ofThisMachine: Authorize = (request) => loopback.has(new URL(request.url).hostname.replaceAll(/^\[|\]$/g, ""));
