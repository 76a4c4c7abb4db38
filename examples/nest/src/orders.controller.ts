import {
  Body,
  Controller,
  Get,
  HttpCode,
  Post,
  ServiceUnavailableException,
  StandardSchemaValidationPipe,
} from "@nestjs/common";
import { z } from "zod";
import { OrdersService } from "./orders.service.js";
import { ReceiptsWorker } from "./receipts.worker.js";

const Order = z.object({ item: z.string().min(1) });

@Controller()
export class OrdersController {
  constructor(
    private readonly orders: OrdersService,
    private readonly worker: ReceiptsWorker,
  ) {}

  @Post("orders")
  @HttpCode(202)
  async place(@Body({ schema: Order, pipes: [new StandardSchemaValidationPipe()] }) order: z.infer<typeof Order>) {
    return { orderId: await this.orders.place(order.item) };
  }

  /** Restart this process when it is not live. */
  @Get("healthz")
  live(): void {
    const { isLive, reasons } = this.worker.health();
    if (!isLive) throw new ServiceUnavailableException(reasons);
  }

  /** Send this process no requests while it is not ready. */
  @Get("readyz")
  ready(): void {
    const { isReady, reasons } = this.worker.health();
    if (!isReady) throw new ServiceUnavailableException(reasons);
  }
}
