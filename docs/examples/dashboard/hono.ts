import { createServer } from "node:http";
import { nodeListener } from "@pgque/dashboard";
import { Hono } from "hono";
import { dashboard } from "./dashboard.ts";

const app = new Hono();
app.all("/admin/queues/*", (context) => dashboard(context.req.raw));
app.get("/", (context) => context.text("the application"));

createServer(nodeListener(async (request) => app.fetch(request))).listen(
  Number(process.env["PORT"] ?? 3000),
  "127.0.0.1",
);
