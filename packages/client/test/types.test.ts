import type { Client, Pool, PoolClient } from "pg";
import { expectTypeOf, test } from "vitest";
import { z } from "zod";
import {
  defineQueue,
  type Batch,
  type Executor,
  type Message,
  type Operations,
  type Pgque,
  type Queue,
} from "@pgque/client";

const orders = defineQueue("orders", {
  payload: z.object({ orderId: z.number(), at: z.coerce.date().default(new Date(0)) }),
});
const untyped = defineQueue("untyped");
declare const pgque: Pgque;

/** What is inside is checked by the compiler and never runs. */
function compiled(work: () => unknown): void {
  expectTypeOf(work).toBeFunction();
}

test("a queue's types are its schema's input and output", () => {
  expectTypeOf(orders).toEqualTypeOf<Queue<{ orderId: number; at?: unknown }, { orderId: number; at: Date }>>();
  expectTypeOf(untyped).toEqualTypeOf<Queue<unknown, unknown>>();
  expectTypeOf(defineQueue("q", { maxRetries: 1 })).toEqualTypeOf<Queue<unknown, unknown>>();
  expectTypeOf(orders).toExtend<Queue>();
});

test("send takes the input", () => {
  compiled(() => pgque.send(orders, { orderId: 1 }));
  compiled(() => pgque.sendMany(orders, [{ orderId: 1, at: "2026-01-01" }]));
  compiled(() => pgque.send(untyped, ["anything"]));
  // @ts-expect-error a number is expected
  compiled(() => pgque.send(orders, { orderId: "1" }));
  // @ts-expect-error orderId is missing
  compiled(() => pgque.sendMany(orders, [{}]));
  // @ts-expect-error unknown property
  compiled(() => pgque.send(orders, { orderId: 1, orderID: 2 }));
  // @ts-expect-error unknown option
  compiled(() => pgque.send(orders, { orderId: 1 }, { delay: 5 }));
  expectTypeOf<ReturnType<typeof pgque.send>>().toEqualTypeOf<Promise<bigint>>();
  expectTypeOf<ReturnType<typeof pgque.sendMany>>().toEqualTypeOf<Promise<bigint[]>>();
});

test("receive gives the output", () => {
  const receive = () => pgque.receive(orders);
  expectTypeOf<ReturnType<typeof receive>>().resolves.toEqualTypeOf<Batch<{ orderId: number; at: Date }>>();
  expectTypeOf<Message<{ n: 1 }>["payload"]>().toEqualTypeOf<{ n: 1 }>();
  expectTypeOf<Message["payload"]>().toBeUnknown();
  expectTypeOf<Message["id"]>().toEqualTypeOf<bigint>();
  expectTypeOf<Batch["id"]>().toEqualTypeOf<bigint | null>();
});

test("what pg offers runs statements, and using offers what belongs into a transaction", () => {
  expectTypeOf<Client>().toExtend<Executor>();
  expectTypeOf<PoolClient>().toExtend<Executor>();
  expectTypeOf<Pool>().toExtend<Executor>();
  expectTypeOf<ReturnType<Pgque["on"]>>().toEqualTypeOf<Operations>();
  expectTypeOf<ReturnType<Pgque["using"]>>().not.toHaveProperty("maintain");
  expectTypeOf<Pgque>().toExtend<Operations>();
});

test("a target that may be missing compiles, as an environment variable may be", () => {
  expectTypeOf<string | undefined>().toExtend<ConstructorParameters<typeof Pgque>[0]>();
});
