import { AsyncLocalStorage } from "node:async_hooks";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Pgque, defineQueue } from "@pgque/client";
import { type Middleware, retry, Worker } from "@pgque/worker";
import { collectMetrics } from "@pgque/worker/metrics";
import { register } from "prom-client";

const pgque = new Pgque(process.env["DATABASE_URL"]);
const orders = defineQueue("orders", { maxRetries: 1 });

// around each call of the handler, the first outermost; what it returns is the outcome
const tenants = new AsyncLocalStorage<unknown>();
const withTenant: Middleware = ([message], _context, next) => tenants.run(message?.headers["tenant"], next);
const patient: Middleware = async (_messages, _context, next) => {
  try {
    return await next();
  } catch (error) {
    if (error instanceof Error && error.message === "503") return retry({ afterMs: 10 }, "the gateway is busy");
    throw error;
  }
};

const worker = new Worker(
  pgque,
  orders,
  ({ payload, attempt }) => {
    if (payload === 43 && attempt === 1) throw new Error("503");
    console.log("charge", payload, "of", tenants.getStore());
  },
  { middleware: [withTenant, patient] },
);

// what it tells: names and their data are typed
worker.on("failed", ({ message, outcome }) => console.log("failed", message.payload, outcome.kind, outcome.reason));
worker.on("databaseLost", ({ part, error }) => console.log("lost the database", part, error));

// what it measures
collectMetrics([worker], { queues: true });

// how it is: a restart helps when it is not live, and only then
const server = createServer((request, response) => {
  const { isLive, isReady, reasons } = worker.health({ lostAfterMs: 30_000 });
  const isFine = request.url === "/healthz" ? isLive : isReady;
  if (request.url === "/metrics") void register.metrics().then((text) => response.end(text));
  else response.writeHead(isFine ? 200 : 503).end(reasons.join("\n"));
}).listen(0, "127.0.0.1");
await once(server, "listening");

await worker.start();
await pgque.sendMany(orders, [42, 43], { headers: { tenant: "a" } });
console.log("port", (server.address() as AddressInfo).port);

await once(process, "SIGTERM");
server.close();
await worker.stop();
await pgque.close();
