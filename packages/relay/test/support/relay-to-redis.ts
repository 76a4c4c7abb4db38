import { Pgque } from "@pgque/client";
import { redisSink, relay } from "@pgque/relay";

// a relay in a process of its own, to be killed
const pgque = new Pgque(process.env["DATABASE_URL"], { retryForMs: 60_000 });
const sink = await redisSink({ url: process.env["REDIS_URL"] ?? "", stream: "orders" });
const running = await relay(pgque, "orders", sink, { name: "to-redis", batchSize: 50, retryMaxMs: 200 });
await running.ended;
await pgque.close();
