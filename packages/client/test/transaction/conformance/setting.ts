import { afterAll, afterEach, beforeAll } from "vitest";
import { defineQueue, Pgque, type Queue, type Transaction, type TransactionOperations } from "@pgque/client";
import { freshDatabase, type TestDatabase } from "../../../../../test/support/database.ts";
import type { Library, Opened } from "../library.ts";

/** An application with a queue, and somebody outside of its transactions who sees what became of them. */
export class Setting<Tx extends Transaction> {
  readonly events: Queue = defineQueue("events");
  readonly #library: Library<Tx>;
  #database: TestDatabase | undefined;
  #outside: Pgque | undefined;
  #app: Opened<Tx> | undefined;

  constructor(library: Library<Tx>) {
    this.#library = library;
    beforeAll(() => this.#start());
    afterEach(() => this.drain());
    afterAll(() => this.#stop());
  }

  get database(): TestDatabase {
    return started(this.#database);
  }

  /** A client with connections of its own. */
  get outside(): Pgque {
    return started(this.#outside);
  }

  get app(): Opened<Tx> {
    return started(this.#app);
  }

  inTransaction(tx: Tx): TransactionOperations {
    return this.outside.inTransaction(tx);
  }

  /** The payloads of all there is to receive, acked. */
  async drain(): Promise<unknown[]> {
    const payloads: unknown[] = [];
    for await (const batch of this.outside.batches(this.events)) payloads.push(...batch.messages.map((m) => m.payload));
    return payloads;
  }

  async #start(): Promise<void> {
    this.#database = await freshDatabase();
    this.#outside = new Pgque(this.#database.pool());
    await this.#outside.ensure(this.events);
    await this.#outside.subscribe(this.events);
    this.#app = await this.#library.open(this.#database.url, 3);
  }

  async #stop(): Promise<void> {
    await this.#app?.end();
    await this.#database?.drop();
  }
}

function started<T>(value: T | undefined): T {
  if (value === undefined) throw new Error("expected the suite to have started");
  return value;
}

/** What an application throws to roll back. */
export class Changed extends Error {
  override readonly name = "Changed";
}
