import type { Socket } from "node:net";
import type { Client } from "pg";

/** How long the other side has to close a connection. */
const goodbyeMs = 1000;

/** Ends a connection, also one whose other side is gone: that would keep the process from ending. */
export function closeConnection(client: Client): void {
  void client.end().catch(() => undefined);
  const { stream } = (client as unknown as { connection: { stream: Socket } }).connection;
  setTimeout(() => stream.destroy(), goodbyeMs).unref();
}
