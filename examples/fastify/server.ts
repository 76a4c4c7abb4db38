import { once } from "node:events";
import { Pgque } from "@pgque/client";
import Fastify from "fastify";
import { placeOrder, receiptWorker } from "./orders.ts";

const pgque = new Pgque(process.env["DATABASE_URL"]); // the one pool of this process
const worker = receiptWorker(pgque);
await worker.start();

const app = Fastify({ logger: true });

const body = {
  type: "object",
  required: ["item"],
  properties: { item: { type: "string", minLength: 1 } },
} as const;

app.post<{ Body: { item: string } }>("/orders", { schema: { body } }, async (request, reply) => {
  const orderId = await placeOrder(pgque, request.body.item);
  return reply.code(202).send({ orderId });
});

// restart this process when it is not live; send it no requests while it is not ready
app.get("/healthz", (_request, reply) => reply.code(worker.health().isLive ? 200 : 503).send());
app.get("/readyz", (_request, reply) => reply.code(worker.health().isReady ? 200 : 503).send());

// when the last request is answered: lets running handlers finish and releases the rest
app.addHook("onClose", async () => {
  await worker.stop();
  await pgque.close();
});

await app.listen({ port: Number(process.env["PORT"] ?? 3000), host: process.env["HOST"] ?? "127.0.0.1" });

await Promise.race([once(process, "SIGTERM"), once(process, "SIGINT")]);
await app.close(); // takes no more requests, and answers those that are open
