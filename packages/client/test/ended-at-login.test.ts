import { once } from "node:events";
import { connect, createServer, type AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { Pool } from "pg";
import { Pgque } from "@pgque/client";
import { failure, freshClient } from "./support/client.ts";

const { database } = await freshClient();

for (const whose of ["of its own", "of the application's"]) {
  test(`a session that the server ends in the moment of its login is a failed call, and not the end of the process; pool ${whose}`, async () => {
    const server = await startEnder();
    const pool = whose === "of its own" ? undefined : new Pool({ connectionString: server.url });
    pool?.on("error", () => undefined);
    await using pgque = new Pgque(pool ?? server.url, { retryForMs: 0 });
    onTestFinished(() => pool?.end());
    await pgque.maintain();
    await pgque.pool.query("select pg_terminate_backend(pg_backend_pid())").catch(() => undefined);
    server.endsSessions = true;
    const error = await failure(pgque.maintain(undefined, { signal: AbortSignal.timeout(60_000) }));
    expect(error.code).toBe("DATABASE_UNREACHABLE");
  });
}

/** Forwards to the database; ends each session, once it is told to, in the same packet that says that the login is done. */
async function startEnder(): Promise<{ url: string; endsSessions: boolean }> {
  const url = new URL(database.url);
  const port = Number(url.port);
  const ready = Buffer.from("Z\0\0\0\x05I");
  const server = createServer((client) => {
    const upstream = connect(port, "127.0.0.1");
    client.pipe(upstream);
    for (const end of [client, upstream]) end.on("error", () => undefined);
    upstream.on("data", (data) => {
      if (ender.endsSessions && data.subarray(-ready.length).equals(ready)) client.end(Buffer.concat([data, ended()]));
      else client.write(data);
    });
    upstream.on("end", () => client.end());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  url.port = String((server.address() as AddressInfo).port);
  const ender = { url: url.href, endsSessions: false };
  return ender;
}

/** What a server says to a session that it ends. */
function ended(): Buffer {
  const fields = Buffer.from("SFATAL\0VFATAL\0C57P01\0Mterminating connection due to administrator command\0\0");
  const head = Buffer.alloc(5);
  head.write("E");
  head.writeInt32BE(4 + fields.length, 1);
  return Buffer.concat([head, fields]);
}
