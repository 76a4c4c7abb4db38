import { defineQueue } from "@pgque/client";
import { z } from "zod";

export const orders = defineQueue("orders", { payload: z.object({ item: z.string().min(1) }) });
