import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import { json } from "node:stream/consumers";
import { Pgque, PgqueError } from "@pgque/client";
import { orders } from "./queues.ts";

const pgque = new Pgque({}); // the database of PGHOST, PGUSER, PGPASSWORD

const server = createServer((request, response) => {
  void answer(request).then(([status, body]) =>
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body)),
  );
});
server.listen(3000);
await once(server, "listening");
await once(process, "SIGTERM");
server.close(); // takes no more requests, and answers those that are open
await once(server, "close");
await pgque.close();

async function answer(request: IncomingMessage): Promise<[status: number, body: object]> {
  if (request.url === "/healthz") return [200, {}];
  try {
    const order = await json(request).catch(() => undefined);
    return [202, await pgque.send(orders, order as { item: string })]; // checked against the schema of the queue
  } catch (error) {
    if (error instanceof PgqueError && error.code === "PAYLOAD_INVALID") return [400, { error: error.message }];
    console.error(error);
    return [503, { error: "try again" }];
  }
}
