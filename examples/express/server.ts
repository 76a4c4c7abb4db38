import { once } from "node:events";
import { Pgque } from "@pgque/client";
import express from "express";
import { z } from "zod";
import { placeOrder, receiptWorker } from "./orders.ts";

const Order = z.object({ item: z.string().min(1) });

const pgque = new Pgque(process.env["DATABASE_URL"]); // the one pool of this process
const worker = receiptWorker(pgque);
await worker.start();

const app = express();
app.use(express.json());

app.post("/orders", async (request, response) => {
  const order = Order.safeParse(request.body);
  if (order.success) response.status(202).json({ orderId: await placeOrder(pgque, order.data.item) });
  else response.status(400).json({ error: z.prettifyError(order.error) });
});

// restart this process when it is not live; send it no requests while it is not ready
app.get("/healthz", (_request, response) => void response.sendStatus(worker.health().isLive ? 200 : 503));
app.get("/readyz", (_request, response) => void response.sendStatus(worker.health().isReady ? 200 : 503));

const server = app.listen(Number(process.env["PORT"] ?? 3000), process.env["HOST"] ?? "127.0.0.1");
await once(server, "listening");
console.log("listening on", server.address());

await Promise.race([once(process, "SIGTERM"), once(process, "SIGINT")]);
server.close(); // takes no more requests, and answers those that are open
await once(server, "close");
await worker.stop(); // lets running handlers finish and releases the rest
await pgque.close();
