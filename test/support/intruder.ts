import { Client } from "pg";
import type { OwnServer, TestDatabase } from "./database.ts";

/** Makes the role of `intrude`: a login without any right. */
export async function createIntruder(server: OwnServer): Promise<void> {
  const admin = await server.connect();
  await admin.query("create role mallory login password 'secret'");
}

/** A session of a login without any right, which may do nothing but take locks. */
export async function intrude(database: TestDatabase): Promise<Client> {
  const url = new URL(database.url);
  [url.username, url.password] = ["mallory", "secret"];
  const client = new Client({ connectionString: url.href, application_name: "intruder" });
  client.on("error", () => undefined);
  await client.connect();
  return client;
}
