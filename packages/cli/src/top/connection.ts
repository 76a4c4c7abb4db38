import type { Client } from "pg";
import { connect, connectionConfig, type DatabaseFlags, needsRole, notInstalled, placeOf } from "../connection.ts";
import { showDuration } from "../output/duration.ts";
import { type Snapshot, takeSnapshot } from "./snapshot.ts";

/** The server cancels what takes too long; this much later it is taken for gone. */
const graceMs = 1000;

/** A connection that is made anew after it has failed. */
export class Connection {
  readonly #flags: DatabaseFlags;
  readonly #timeoutMs: number;
  readonly #over: AbortSignal;
  #client: Client | undefined;
  /** How the connection broke. What is asked of it afterwards fails by that alone. */
  #lost: Error | undefined;
  place = "";

  /**
   * @param timeoutMs for a look; to connect as well
   * @param over hangs up, whatever is under way
   */
  constructor(flags: DatabaseFlags, timeoutMs: number, over: AbortSignal) {
    this.#flags = flags;
    this.#timeoutMs = timeoutMs;
    this.#over = over;
    over.addEventListener("abort", () => this.close());
  }

  async open(): Promise<Client> {
    if (this.#client !== undefined) return this.#client;
    const config = { ...connectionConfig(this.#flags), connectionTimeoutMillis: this.#timeoutMs };
    this.#lost = undefined;
    this.#client = await connect({ ...config, application_name: "pgque top" }, this.#over);
    this.place = placeOf(this.#client);
    this.#client.once("error", (error) => (this.#lost = error));
    return this.#client;
  }

  /** @throws Error also when there is no answer in time: a server that is halted, or a network that lost the connection, says nothing */
  async look(): Promise<Snapshot> {
    const { quoteIdentifier } = await import("@pgque/sql");
    const client = await this.open();
    const silent = new Error(`the server said nothing for ${showDuration(this.#timeoutMs + graceMs)}`);
    const giveUp = setTimeout(() => client.connection.stream.destroy(silent), this.#timeoutMs + graceMs);
    try {
      return await takeSnapshot(client, await quoteIdentifier(client, this.#flags.schema), this.#timeoutMs);
    } catch (error) {
      // it may be in a transaction that failed, or gone
      this.close();
      throw withAdvice((this.#lost ?? error) as Error & { code?: string }, this.#flags.schema);
    } finally {
      clearTimeout(giveUp);
    }
  }

  close(): void {
    const client = this.#client;
    this.#client = undefined;
    client?.connection.stream.destroy();
  }
}

/** The same failure, with what to do about it. */
function withAdvice(error: Error & { code?: string }, schema: string): Error {
  if (error.code === "42501") return new Error(`${error.message}. ${needsRole(schema, "viewer")}`, { cause: error });
  // no such schema, function or table
  const isMissing = ["3F000", "42883", "42P01"].includes(error.code ?? "");
  return isMissing ? new Error(`${error.message}. ${notInstalled}`, { cause: error }) : error;
}
