import { Client, type ClientConfig } from "pg";
import { streamOf } from "./borrowed.ts";

/** How long the other side has to close a connection. */
const goodbyeMs = 1000;

/** Those that are not ended, by the options of their pool. */
const open = new WeakMap<object, Set<OwnClient>>();

/**
 * A connection that never ends the process and never keeps it from ending. Its statements fail when it breaks, and that is enough: a server that
 * ends it in the moment of its login does so before anybody can listen. It ends when it is told to, also when its other side is gone.
 */
export class OwnClient extends Client {
  constructor(config?: string | ClientConfig) {
    super(config);
    this.on("error", () => undefined);
    if (typeof config !== "object") return;
    const siblings = open.get(config) ?? new Set();
    open.set(config, siblings.add(this));
    this.on("end", () => siblings.delete(this));
  }

  /** Cuts those of a pool, whatever they are doing. */
  static destroyAll(options: object): void {
    for (const client of open.get(options) ?? []) streamOf(client)?.destroy();
  }

  override end(): Promise<void>;
  override end(callback: (error: Error) => void): void;
  override end(callback?: (error: Error) => void): Promise<void> | void {
    const stream = streamOf(this);
    setTimeout(() => stream?.destroy(), goodbyeMs).unref();
    return callback ? super.end(callback) : super.end();
  }
}
