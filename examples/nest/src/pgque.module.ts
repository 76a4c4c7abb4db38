import { Module, type OnApplicationShutdown } from "@nestjs/common";
import { Pgque } from "@pgque/client";

/** Provides `Pgque`, with the one pool of this process. */
@Module({
  providers: [{ provide: Pgque, useFactory: () => new Pgque(process.env["DATABASE_URL"]) }],
  exports: [Pgque],
})
export class PgqueModule implements OnApplicationShutdown {
  constructor(private readonly pgque: Pgque) {}

  /** After those of the modules that import this one: their workers have stopped. */
  onApplicationShutdown(): Promise<void> {
    return this.pgque.close();
  }
}
