import type { Client, Pool, PoolClient } from "pg";
import { expectTypeOf, test } from "vitest";
import { z } from "zod";
import {
  defineQueue,
  type AnyType,
  type Batch,
  type Queryable,
  type Message,
  type Operations,
  type Pgque,
  type Queue,
  type Sent,
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
  expectTypeOf(orders).toEqualTypeOf<
    Queue<AnyType<{ orderId: number; at?: unknown }, { orderId: number; at: Date }>>
  >();
  expectTypeOf(untyped).toEqualTypeOf<Queue>();
  expectTypeOf(defineQueue("q", { maxRetries: 1 })).toEqualTypeOf<Queue>();
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
  expectTypeOf<ReturnType<typeof pgque.send>>().toEqualTypeOf<Promise<Sent>>();
  expectTypeOf<ReturnType<typeof pgque.sendMany>>().toEqualTypeOf<Promise<Sent[]>>();
});

test("receive gives the output", () => {
  const receive = () => pgque.receive(orders);
  expectTypeOf<ReturnType<typeof receive>>().resolves.toEqualTypeOf<Batch<Message<{ orderId: number; at: Date }>>>();
  expectTypeOf<Message<{ n: 1 }>["payload"]>().toEqualTypeOf<{ n: 1 }>();
  expectTypeOf<Message["payload"]>().toBeUnknown();
  expectTypeOf<Message["id"]>().toEqualTypeOf<string>();
  expectTypeOf<Batch["id"]>().toEqualTypeOf<string | null>();
});

const events = defineQueue("events", {
  types: {
    created: z.object({ id: z.number() }),
    paid: z.object({ id: z.number(), at: z.coerce.date() }),
  },
});

test("a queue that names its types takes the payload of each, and only with its type", () => {
  compiled(() => pgque.send(events, { id: 1 }, { type: "created" }));
  compiled(() => pgque.sendMany(events, [{ id: 1, at: "2026-01-01" }], { type: "paid" }));
  compiled(() => pgque.sendStream(events, [{ id: 1 }], { type: "created" }));
  // @ts-expect-error the type is missing
  compiled(() => pgque.send(events, { id: 1 }));
  // @ts-expect-error no such type
  compiled(() => pgque.send(events, { id: 1 }, { type: "deleted" }));
  // @ts-expect-error not a payload of this type
  compiled(() => pgque.send(events, { at: new Date() }, { type: "created" }));
});

test("its messages are told apart by their type", () => {
  const receive = () => pgque.receive(events);
  type Received = Awaited<ReturnType<typeof receive>>["messages"][number];
  expectTypeOf<Received>().toEqualTypeOf<
    Message<{ id: number }, "created"> | Message<{ id: number; at: Date }, "paid">
  >();
  expectTypeOf<Extract<Received, { type: "paid" }>["payload"]["at"]>().toEqualTypeOf<Date>();
  expectTypeOf(events).toExtend<Queue>();
});

test("a queue by its name carries anything", () => {
  compiled(() => pgque.send("orders", { anything: 1 }));
  compiled(() => pgque.send("orders", 1, { type: "any" }));
  const receive = () => pgque.receive("orders");
  expectTypeOf<Awaited<ReturnType<typeof receive>>["messages"][number]["payload"]>().toBeUnknown();
});

test("a queue without a validator may have a type all the same", () => {
  const notes = defineQueue<{ text: string }>("notes", { defaults: { key: ({ text }) => text } });
  expectTypeOf(notes).toEqualTypeOf<Queue<AnyType<{ text: string }>>>();
  compiled(() => pgque.send(notes, { text: "x" }));
  // @ts-expect-error not a note
  compiled(() => pgque.send(notes, { txt: "x" }));
});

test("the functions among a queue's defaults are given its payload and type", () => {
  defineQueue("q", {
    payload: z.object({ id: z.number() }),
    defaults: {
      dedupeKey: (payload) => {
        expectTypeOf(payload).toEqualTypeOf<{ id: number }>();
        return String(payload.id);
      },
    },
  });
  defineQueue("q", {
    types: { a: z.string(), b: z.number() },
    defaults: {
      key: (payload, type) => {
        expectTypeOf(payload).toEqualTypeOf<string | number>();
        expectTypeOf(type).toEqualTypeOf<"a" | "b">();
        return type;
      },
    },
  });
});

test("what pg offers runs statements, and inTransaction offers what belongs into a transaction", () => {
  expectTypeOf<Client>().toExtend<Queryable>();
  expectTypeOf<PoolClient>().toExtend<Queryable>();
  expectTypeOf<Pool>().toExtend<Queryable>();
  expectTypeOf<ReturnType<Pgque["on"]>>().toEqualTypeOf<Operations>();
  expectTypeOf<ReturnType<Pgque["inTransaction"]>>().not.toHaveProperty("maintain");
  expectTypeOf<Pgque>().toExtend<Operations>();
});

test("a target that may be missing compiles, as an environment variable may be", () => {
  expectTypeOf<string | undefined>().toExtend<ConstructorParameters<typeof Pgque>[0]>();
});

test('`store: "input"` is asked for where the output\'s JSON is not valid input', () => {
  const length = z.string().transform((s) => s.length);
  compiled(() => defineQueue("q", { payload: length, store: "input" }));
  // @ts-expect-error a number is not valid input
  compiled(() => defineQueue("q", { payload: length }));
  // @ts-expect-error nor can it be stored
  compiled(() => defineQueue("q", { payload: length, store: "output" }));
  // @ts-expect-error one of the types
  compiled(() => defineQueue("q", { types: { a: z.string(), b: z.object({ n: length }) } }));
  compiled(() => defineQueue("q", { types: { a: z.string(), b: length }, store: "input" }));
  compiled(() => defineQueue("q", { types: { a: z.string() }, store: "output" }));
  // @ts-expect-error a Date that arrives as a string
  compiled(() => defineQueue("q", { payload: z.object({ at: z.date() }) }));
  const isoDate = z.codec(z.iso.datetime(), z.date(), { decode: (s) => new Date(s), encode: (d) => d.toISOString() });
  compiled(() => defineQueue("q", { payload: z.object({ at: isoDate, list: z.array(z.tuple([isoDate, z.json()])) }) }));
  compiled(() => defineQueue("q", { payload: z.object({ a: z.string().optional(), b: z.any(), c: z.unknown() }) }));
  compiled(() =>
    defineQueue("q", {
      payload: z
        .string()
        .brand<"Id">()
        .default("x" as never),
    }),
  );
  // @ts-expect-error there is no schema whose output could be stored
  compiled(() => defineQueue("q", { store: "input" }));
});
