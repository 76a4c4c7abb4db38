import "reflect-metadata";
import { Injectable, Module, type OnApplicationShutdown } from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import { Pgque } from "@pgque/client";
import { handleOne } from "./handle-one";

@Injectable()
class Orders implements OnApplicationShutdown {
  constructor(private readonly pgque: Pgque) {}

  handleOne(): Promise<unknown> {
    return handleOne(this.pgque);
  }

  async onApplicationShutdown(): Promise<void> {
    await this.pgque.close();
  }
}

@Module({
  providers: [Orders, { provide: Pgque, useFactory: () => new Pgque(process.env["DATABASE_URL"]) }],
})
class AppModule {}

async function main(): Promise<void> {
  const app = await NestFactory.createApplicationContext(AppModule, { logger: ["error"] });
  console.log(JSON.stringify(await app.get(Orders).handleOne()));
  await app.close();
}

void main();
