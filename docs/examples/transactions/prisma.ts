import { Pgque, defineQueue } from "@pgque/client";
import { PrismaPg } from "@prisma/adapter-pg";
import { PrismaClient } from "./generated/prisma/client.ts";

const placed = defineQueue("orders placed");
const connectionString = process.env["DATABASE_URL"] ?? "";
const pgque = new Pgque(connectionString);
const prisma = new PrismaClient({ adapter: new PrismaPg({ connectionString }) });
await pgque.ensure(placed); // creates the queue unless it is there

await prisma.$transaction(async (tx) => {
  const order = await tx.order.create({ data: { item: "tea" } });
  await pgque.inTransaction(tx).send(placed, { orderId: order.id });
});
await prisma.$disconnect();
await pgque.close();
