import { Module } from "@nestjs/common";
import { OrdersController } from "./orders.controller.js";
import { OrdersService } from "./orders.service.js";
import { PgqueModule } from "./pgque.module.js";
import { ReceiptsWorker } from "./receipts.worker.js";

@Module({
  imports: [PgqueModule],
  controllers: [OrdersController],
  providers: [OrdersService, ReceiptsWorker],
})
export class OrdersModule {}
