import "reflect-metadata";
import { NestFactory } from "@nestjs/core";
import { OrdersModule } from "./orders.module.js";

const app = await NestFactory.create(OrdersModule);
// without it no hook runs when SIGTERM comes; `useProcessExit` exits with 0 afterwards, rather than by the signal
app.enableShutdownHooks(["SIGTERM", "SIGINT"], { useProcessExit: true });
await app.listen(Number(process.env["PORT"] ?? 3000), process.env["HOST"] ?? "127.0.0.1");
