import { Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from "@nestjs/common";
import { Pgque } from "@pgque/client";
import { Worker, type WorkerHealth } from "@pgque/worker";
import { placed } from "./queues.js";

/** Writes a receipt for each order. It commits with the ack, so that each order has exactly one. */
@Injectable()
export class ReceiptsWorker implements OnApplicationBootstrap, OnApplicationShutdown {
  readonly #worker: Worker;

  constructor(pgque: Pgque) {
    this.#worker = new Worker(
      pgque,
      placed,
      async ({ payload }, { tx }) => {
        await tx.query("insert into public.receipts (order_id) values ($1)", [payload.orderId]);
      },
      { transactional: true },
    );
  }

  health(): WorkerHealth {
    return this.#worker.health();
  }

  /** Before the server listens. A database that cannot be reached fails the start. */
  async onApplicationBootstrap(): Promise<void> {
    await this.#worker.start();
  }

  /** After the last request was answered: lets running handlers finish and releases the rest. */
  async onApplicationShutdown(): Promise<void> {
    await this.#worker.stop();
  }
}
