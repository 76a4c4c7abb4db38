import { trace } from "@opentelemetry/api";
import { Pgque, defineQueue } from "@pgque/client";
import { openTelemetry, processing } from "@pgque/client/opentelemetry";

const orders = defineQueue("orders");
const pgque = new Pgque(process.env["DATABASE_URL"], { telemetry: openTelemetry() });
await pgque.ensure(orders);
await pgque.subscribe(orders);

// the message carries the context of the span "send orders", here a child of "checkout"
await trace.getTracer("shop").startActiveSpan("checkout", async (span) => {
  await pgque.send(orders, { orderId: 42 });
  span.end();
});

const batch = await pgque.receive(orders); // "receive orders", linked to the spans that sent its messages
for (const message of batch) {
  // "process orders", in the trace of the checkout; what is active inside is its child
  await processing(pgque, orders, message, () => console.log("charge", message.payload));
}
await batch.ack(); // "settle orders"
await pgque.close();
