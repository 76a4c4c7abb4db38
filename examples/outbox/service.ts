import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import { json } from "node:stream/consumers";
import { Pgque } from "@pgque/client";
import { Pool } from "pg";
import { z } from "zod";
import { placeOrder } from "./orders.ts";

const Order = z.object({ item: z.string().min(1) });

// the application's own pool; Pgque sends on its clients
const pool = new Pool({ connectionString: process.env["DATABASE_URL"], connectionTimeoutMillis: 10_000 });
// a connection that is lost fails its transaction, not the process: `pool` tells of idle ones, a client of itself
pool.on("error", (error) => console.error(error.message));
pool.on("connect", (client) => client.on("error", (error) => console.error(error.message)));
const pgque = new Pgque(pool);

const server = createServer((request, response) => {
  void handle(request)
    .catch((error: unknown): Answer => {
      console.error(error);
      return [500, { error: "try again" }];
    })
    .then(([status, body]) =>
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body)),
    );
});
server.listen(Number(process.env["PORT"] ?? 3000), process.env["HOST"] ?? "127.0.0.1");
await once(server, "listening");
console.log("listening on", server.address());

await Promise.race([once(process, "SIGTERM"), once(process, "SIGINT")]);
server.close(); // takes no more requests, and answers those that are open
await once(server, "close");
await pool.end();

type Answer = [status: number, body: object];

async function handle(request: IncomingMessage): Promise<Answer> {
  if (request.method !== "POST" || request.url !== "/orders") return [404, { error: "expected POST /orders" }];
  const order = Order.safeParse(await json(request).catch(() => undefined));
  if (!order.success) return [400, { error: z.prettifyError(order.error) }];
  const orderId = await placeOrder(pool, pgque, order.data.item);
  return orderId === null ? [409, { error: "nothing left" }] : [202, { orderId }];
}
