import { createServer } from "node:http";
import { nodeListener } from "@pgque/dashboard";
import { dashboard } from "./dashboard.ts";

const listener = nodeListener(dashboard);

const server = createServer((request, response) => {
  if (/^\/admin\/queues(?=[/?]|$)/.test(request.url ?? "")) listener(request, response);
  else response.end("the application");
});
server.listen(Number(process.env["PORT"] ?? 3000), "127.0.0.1");
