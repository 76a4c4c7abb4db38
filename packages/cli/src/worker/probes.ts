import { once } from "node:events";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Registry } from "prom-client";
import type { Worker } from "@pgque/worker";

/** What is monitored and scraped just now; watching replaces it. */
export interface Monitored {
  workers: readonly Worker[];
  registry: Registry;
}

/** Serves /metrics, /healthz and /readyz. */
export interface Probes {
  /** Where, as a person or a scraper writes it. */
  readonly url: string;
  close(): Promise<void>;
}

/**
 * Listens before any worker starts, so that a port in use stops the command before it receives.
 *
 * @param monitored asked with every request; undefined while nothing has been loaded
 * @throws Error when the port is in use or the address is not this machine's
 */
export async function serveProbes(
  { port, host }: { port: number; host: string },
  monitored: () => Monitored | undefined,
): Promise<Probes> {
  const server = createServer((request, response) => {
    // whatever was asked for: a request must not end the process
    const [path = ""] = (request.url ?? "").split("?", 1);
    answer(response, request.method ?? "", path, monitored()).catch((error: unknown) => {
      if (!response.headersSent) response.writeHead(500, { "content-type": "text/plain; charset=utf-8" });
      response.end(`${String(error)}\n`);
    });
  });
  try {
    server.listen(port, host);
    await once(server, "listening");
  } catch (cause) {
    throw new Error(`could not serve metrics at ${host}:${port}: ${reasonOf(cause)}`, { cause });
  }
  const { port: found } = server.address() as AddressInfo;
  return { url: `http://${host.includes(":") ? `[${host}]` : host}:${found}`, close: () => close(server) };
}

async function answer(
  response: ServerResponse,
  method: string,
  path: string,
  monitored: Monitored | undefined,
): Promise<void> {
  const reply = (status: number, text: string, type = "text/plain; charset=utf-8"): void =>
    void response.writeHead(status, { "content-type": type }).end(text);
  if (method !== "GET" && method !== "HEAD") return reply(405, "expected GET\n");
  if (path === "/healthz") return verdict(reply, monitored, "isLive");
  if (path === "/readyz") return verdict(reply, monitored, "isReady");
  if (path !== "/metrics") return reply(404, "expected /metrics, /healthz or /readyz\n");
  if (monitored === undefined) return reply(503, "it is starting\n");
  reply(200, await monitored.registry.metrics(), monitored.registry.contentType);
}

function verdict(
  reply: (status: number, text: string) => void,
  monitored: Monitored | undefined,
  what: "isLive" | "isReady",
): void {
  if (monitored === undefined) return what === "isLive" ? reply(200, "ok\n") : reply(503, "it is starting\n");
  const bad = monitored.workers.map((worker) => worker.health()).filter((health) => !health[what]);
  const lines = bad.flatMap(({ queue, consumer, reasons }) =>
    reasons.map((reason) => `queue ${queue}, consumer ${consumer}: ${reason}\n`),
  );
  reply(bad.length === 0 ? 200 : 503, lines.join("") || "ok\n");
}

function reasonOf(error: unknown): string {
  const { code } = error as NodeJS.ErrnoException;
  if (code === "EADDRINUSE") return "the port is in use. Stop what uses it, or name another with --metrics-port";
  if (code === "EADDRNOTAVAIL" || code === "ENOTFOUND")
    return "that is no address of this machine. Name one with --metrics-host";
  if (code === "EACCES") return "this user may not listen there. Name a port from 1024 on with --metrics-port";
  return String(error);
}

async function close(server: Server): Promise<void> {
  server.closeAllConnections();
  await new Promise<void>((resolve) => server.close(() => resolve()));
}
