import type { Socket } from "node:net";
import { Client, type ClientConfig } from "pg";

/** How long the other side has to close a connection. */
const goodbyeMs = 1000;

/**
 * A connection that never ends the process and never keeps it from ending. Its statements fail when it breaks, and that is enough: a server that
 * ends it in the moment of its login does so before anybody can listen. It ends when it is told to, also when its other side is gone.
 */
export class OwnClient extends Client {
  constructor(config?: string | ClientConfig) {
    super(config);
    this.on("error", () => undefined);
  }

  override end(): Promise<void>;
  override end(callback: (error: Error) => void): void;
  override end(callback?: (error: Error) => void): Promise<void> | void {
    const { stream } = (this as unknown as { connection: { stream: Socket } }).connection;
    setTimeout(() => stream.destroy(), goodbyeMs).unref();
    return callback ? super.end(callback) : super.end();
  }
}
