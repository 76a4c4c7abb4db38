// Whether the classes of `import` are those of `require`, and their errors too.
import { createRequire } from "node:module";
import * as client from "@pgque/client";
import * as worker from "@pgque/worker";

const require = createRequire(import.meta.url);
const required = { client: require("@pgque/client"), worker: require("@pgque/worker") };
const error = await new required.client.Pgque("postgres://127.0.0.1:1/x").maintain().catch((reason) => reason);
console.log(
  JSON.stringify([
    required.client.Pgque === client.Pgque,
    required.worker.Worker === worker.Worker,
    error instanceof client.PgqueError,
    client.isPgqueError(error, "DATABASE_UNREACHABLE"),
  ]),
);
