import { nodeListener } from "@pgque/dashboard";
import { fastify } from "fastify";
import { dashboard } from "./dashboard.ts";

const app = fastify();
const listener = nodeListener(dashboard);
// a scope of its own, in which Fastify leaves bodies alone
app.register(async (scope) => {
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser("*", (_request, _body, done) => done(null));
  for (const path of ["/admin/queues", "/admin/queues/*"]) {
    scope.all(path, (request, reply) => {
      reply.hijack();
      listener(request.raw, reply.raw);
    });
  }
});
app.get("/", () => "the application");

await app.listen({ port: Number(process.env["PORT"] ?? 3000), host: "127.0.0.1" });
