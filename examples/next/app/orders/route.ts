import { z } from "zod";
import { placeOrder } from "../../lib/orders.ts";

const Order = z.object({ item: z.string().min(1) });

export async function POST(request: Request): Promise<Response> {
  const order = Order.safeParse(await request.json().catch(() => undefined));
  if (!order.success) return Response.json({ error: z.prettifyError(order.error) }, { status: 400 });
  return Response.json({ orderId: await placeOrder(order.data.item) }, { status: 202 });
}
