import { Pgque } from "@pgque/client";
import { relay, type Sink } from "@pgque/relay";

const pgque = new Pgque(process.env["DATABASE_URL"]);
await pgque.ensure("orders");
await pgque.sendMany("orders", [{ orderId: 1 }, { orderId: 2 }, "not an order"]);

// a destination of your own: standard output
const output: Sink = {
  async open() {},
  async write(messages) {
    const isOrder = ({ body }: { body: string }): boolean => body.startsWith("{");
    for (const { id, body } of messages.filter(isOrder)) console.log(id, body);
    return messages.filter((message) => !isOrder(message)).map(({ id }) => ({ id, reason: "it is no order" }));
  },
  async close() {},
};

const running = await relay(pgque, "orders", output, {
  name: "orders-to-output",
  onRefused: "skip",
  onEvent: (event) => console.log(event.kind),
});
while (running.relayed < 2) await new Promise((resolve) => setTimeout(resolve, 10));
await running.stop();
await pgque.close();
