import { defineQueue } from "@pgque/client";
import { z } from "zod";

export const placed = defineQueue("orders-placed", { payload: z.object({ orderId: z.string() }) });
