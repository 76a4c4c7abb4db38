import type { Operations, Pgque } from "@pgque/client";
import { Client } from "pg";
import { within } from "./answer.ts";
import { connectBeside } from "./beside-pool.ts";
import { closeConnection } from "./close-connection.ts";

/** A connection beside the pool, made when something is to be asked on it, and made anew when it has failed. One asks at a time. */
export class OwnConnection {
  readonly #pgque: Pgque;
  #client: Client | undefined;

  constructor(pgque: Pgque) {
    this.#pgque = pgque;
  }

  /** What fails, or is not answered within `limitMs`, ends the connection. */
  async ask<T>(limitMs: number, call: (operations: Operations) => Promise<T>): Promise<T> {
    const client = this.#client ?? (await this.#connect(limitMs));
    try {
      return await within(limitMs, call(this.#pgque.on(client)));
    } catch (error) {
      this.close();
      throw error;
    }
  }

  close(): void {
    const client = this.#client;
    this.#client = undefined;
    if (client !== undefined) closeConnection(client);
  }

  async #connect(limitMs: number): Promise<Client> {
    const client = new Client(this.#pgque.pool.options);
    this.#client = client;
    client.on("error", () => undefined);
    client.on("end", () => {
      if (this.#client === client) this.#client = undefined;
    });
    try {
      await connectBeside(this.#pgque, client, limitMs);
      return client;
    } catch (error) {
      this.close();
      throw error;
    }
  }
}
